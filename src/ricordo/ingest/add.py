"""Adds files, folders, pages, standard input and texts, and reports what was new, skipped or failed, and why.

What to do about a conflict is decided by the ref, before a file is opened or a page is fetched (unless the links of the
page are needed). Each page is saved as soon as it is read, so that nothing is lost if the command is interrupted.
``sources`` finds files and fetches pages, ``formats`` reads them.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ricordo.errors import Error, NotFound, PathConflict, StoreError, Unreadable, UsageError
from ricordo.ingest.files import FileReader, keeping, said_by, times_of, without_secrets
from ricordo.ingest.formats.read import parse_bytes
from ricordo.ingest.pipeline import Incoming, Pipeline
from ricordo.sources.base import Place, looks_like_url
from ricordo.sources.disk import FoundFile, Skipped, absolute, disk_ref, expand, near_paths, printable
from ricordo.store.base import Store
from ricordo.store.values import Backlog, FileState
from ricordo.values.file_refs import PLAIN, FileRefs
from ricordo.values.items import Entry, Parsed, Ref, Saved
from ricordo.values.kinds import kind_of_drive
from ricordo.values.reports import AddReport, Progress

if TYPE_CHECKING:
    from ricordo.ingest.pages import PageReader, ReadPage
    from ricordo.sources.crawl import Following


CHANGED = "already in the store, and changed on disk since: use 'ricordo refresh' to take the change in"
KNOWN = "already in the store"


@dataclass(eq=False)
class Adding:
    """One ``add``: its options, and the report it builds up."""

    store: Store
    pipeline: Pipeline
    files: FileReader
    _: KW_ONLY
    kind: str | None
    fields: Mapping[str, Any]
    on_conflict: str
    backlog: Backlog | None
    progress: Callable[[Progress], None] | None
    allow_secrets: bool = False
    dry_run: bool = False
    done: list[Saved] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _untrusted: Counter[Path] = field(default_factory=Counter)
    """By folder: how many files say that every agent gets them, while the user does not trust the folder."""
    started: float = field(default_factory=time.monotonic)
    refs: FileRefs = PLAIN

    def text(self, ref: Ref, text: str | bytes) -> AddReport:
        """Add standard input or a string under a ref."""
        self._refuse_existing([ref])
        if self._skip_known(ref, self._known([ref])):
            return self._report()
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        incoming: list[Incoming] = []
        try:
            parsed = parse_bytes(data, ref.path, limits=self.files.limits)
            blob = None if parsed.is_textual else data  # there is no file to read it from again, so its bytes are kept
            incoming.append(
                self._kept(Incoming(ref, parsed, self.kind_for(ref), self.fields, blob, times=times_of(parsed)))
            )
            self._warn(ref, parsed)
        except Error as error:
            self.fail(str(ref), error)
        self.done.extend(self._save(incoming, durable=True))
        return self._report()

    def entries(self, entries: Iterable[tuple[Ref, Entry]], *, durable: bool) -> AddReport:
        """Add texts that a program passes."""

        def incoming() -> Iterator[Incoming]:
            for ref, entry in entries:
                parsed = Parsed(entry.content, structure=entry.structure)
                yield Incoming(ref, parsed, entry.kind, entry.fields, times=entry.times)

        return self._take_all(incoming(), durable=durable)

    def history(self, sources: Sequence[str | Path]) -> AddReport:
        """Add the commits of the repositories that some files or folders belong to, after the files themselves."""
        from ricordo.config.repository import repository_around
        from ricordo.ingest.history import MOST_COMMITS, History

        paths = [path for source in sources if not looks_like_url(str(source)) for path in self._expanded(str(source))]
        repositories = {path: repository_around(path) for path in paths}
        for path, found in repositories.items():
            if found is None:
                raise UsageError(f"{path} is in no git repository", hint="Leave out ‹history› for it.")
        for top in dict.fromkeys(found.top for found in repositories.values() if found is not None):
            history = History(self.store, top, self.refs)
            if history.is_cut:
                self.notes.append(f"of the history of {top}, the newest {MOST_COMMITS:,} commits are read")
            self._take_all(history.items())
        return self._report()

    def _take_all(self, incoming: Iterable[Incoming], *, durable: bool = False) -> AddReport:
        for saved in self._save(incoming, durable=durable):
            self.done.append(saved)
            self.tell(len(self.done), None, saved.ref)
        return self._report()

    def sources(
        self,
        sources: Sequence[str | Path],
        *,
        globs: Sequence[str],
        as_ref: Ref | None,
        pages: Callable[[Adding], AddingPages] | None = None,
    ) -> AddReport:
        """Add files, folders and pages; folders are remembered as roots. ``pages`` is called if there are URLs."""
        if not sources:
            raise UsageError("nothing to add", hint="Name files, folders or URLs: ‹:add ~/notes›")
        urls = [source for source in sources if pages and isinstance(source, str) and looks_like_url(source)]
        web = pages(self) if pages is not None and urls else None
        places = web.places(urls) if web is not None else []
        self.refs = self.store.machines.refs()
        found: dict[Path, FoundFile] = {}
        roots: list[Path] = []
        for source in sources:
            if source in urls:
                continue
            for path in self._expanded(str(source)):
                if path.is_dir():
                    roots.append(path)
                # A file that the user named is added whatever the ignore files say.
                for entry in self.files.at(path, globs if path.is_dir() else ()):
                    if isinstance(entry, FoundFile):
                        found[entry.path] = entry
                    else:
                        self._pass_over(entry)
        if as_ref is not None and (roots or len(found) > 1):
            raise UsageError(
                "‹as_ref› names one item, so it goes with one file", hint="Leave out ‹as_ref›, or add one file."
            )
        refs = {path: as_ref or disk_ref(path, self.refs) for path in found}
        self._refuse_existing([*refs.values(), *(as_ref or place.ref for place in places)])
        if self.dry_run:
            return self._foretell(list(found.values()), refs, [as_ref or place.ref for place in places])
        if refs and as_ref is None:
            self.store.machines.note_this()
        for root in roots:
            self._remember(absolute(root), tuple(globs))
        self._take(list(found.values()), refs)
        if web is not None:
            web.take(places, as_ref)
        return self._report()

    def _foretell(self, found: Sequence[FoundFile], refs: Mapping[Path, Ref], pages: Sequence[Ref]) -> AddReport:
        """What would be added; nothing is read, fetched or written."""
        known = self._known([*refs.values(), *pages])
        wanted = [entry for entry in found if not self._skip_known(refs[entry.path], known, entry)]
        would = {"overwrite": "would be read again"}.get(self.on_conflict, KNOWN)
        for ref in (refs[entry.path] for entry in wanted):
            self.done.append(Saved(str(ref), would if ref in known else "would be added"))
        self.done += [Saved(str(ref), "would be fetched") for ref in pages if not self._skip_known(ref, known)]
        size = sum(entry.size for entry in wanted) / 1e6
        count = f"{len(wanted):,} file{'' if len(wanted) == 1 else 's'}"
        self.notes.append(f"nothing was added: this would read {count} of {size:,.1f} MB")
        return self._report()

    def skips(self, ref: Ref) -> bool:
        """Whether a page is skipped because its ref exists already; the report says so then."""
        if self.on_conflict == "error":
            self._refuse_existing([ref])
        return self._skip_known(ref, self._known([ref]) if self.on_conflict == "skip" else {})

    def take_page(self, incoming: Incoming) -> None:
        """Save one page at once, because the next one may take long."""
        self._warn(incoming.ref, incoming.parsed)
        self.done.extend(self._save([self._kept(incoming)]))

    def kind_for(self, ref: Ref) -> str:
        return self.kind or kind_of_drive(ref.drive)

    def _expanded(self, source: str) -> list[Path]:
        paths = expand(source, self.refs)
        if not paths:
            near = " or ".join(near_paths(source))
            hint = f"Did you mean {near}?" if near else "Check the spelling, or quote the name."
            if not Path(source).is_absolute() and not source.startswith(("~", "disk:/")):
                hint = f"{hint} It was looked for in {Path.cwd()}."
            self.fail(source, NotFound(f"there is no file or folder {source}", hint=hint))
        return paths

    def _remember(self, root: str, globs: tuple[str, ...]) -> None:
        """Remember a root; the globs that earlier calls gave for it stay in force."""
        before = dict(self.store.files.roots()).get(root)
        if before is not None and before != globs:
            globs = () if not before or not globs else tuple(dict.fromkeys((*before, *globs)))
        if str(printable(root)) == root:
            self.store.files.remember_root(root, globs)

    def _pass_over(self, entry: Skipped) -> None:
        name = str(disk_ref(printable(str(entry.path)), self.refs))
        if entry.failed:
            self.fail(name, Unreadable(entry.reason))
        else:
            self.done.append(Saved(name, "skipped", reason=entry.reason))

    def fail(self, name: str, error: Error) -> None:
        """Report something that could not be added."""
        self.done.append(Saved(name, "failed", error=error.to_dict()))

    def _known(self, refs: Iterable[Ref]) -> dict[Ref, FileState | None]:
        """Those of the refs that exist already."""
        paths: dict[str, list[str]] = {}
        for ref in refs:
            paths.setdefault(ref.drive, []).append(ref.path)
        return {
            Ref(drive, path): state
            for drive, wanted in paths.items()
            for path, state in self.store.files.known(drive, wanted).items()
        }

    def _refuse_existing(self, refs: Sequence[Ref]) -> None:
        """With ``on_conflict`` error, fail before anything is read or written."""
        if self.on_conflict != "error":
            return
        for ref in self._known(refs):
            raise PathConflict(
                f"{ref} is already in the store; nothing was written",
                hint=f"Read it first (get {ref}), or pass ‹on_conflict=overwrite›.",
            )

    def _skip_known(self, ref: Ref, known: Mapping[Ref, FileState | None], entry: FoundFile | None = None) -> bool:
        if self.on_conflict != "skip" or ref not in known:
            return False
        state = known[ref]
        changed = state is not None and entry is not None and not state.looks_like(entry.mtime_ns, entry.size)
        self.done.append(Saved(str(ref), "skipped", reason=CHANGED if changed and ref.drive == "disk" else KNOWN))
        return True

    def _take(self, found: Sequence[FoundFile], refs: Mapping[Path, Ref]) -> None:
        known = self._known(refs.values()) if self.on_conflict == "skip" else {}
        wanted = [entry for entry in found if not self._skip_known(refs[entry.path], known, entry)]
        skipped = len(found) - len(wanted)
        size, read = sum(entry.size for entry in wanted), 0

        def incoming() -> Iterator[Incoming]:
            nonlocal read
            for place, entry in enumerate(wanted):
                ref = refs[entry.path]
                # Progress is reported before the file is read, because reading a large one takes long.
                self.tell(place, len(wanted), str(ref), skipped, bytes_read=(read, size))
                one = self._read(entry, ref)
                read += entry.size
                if one is not None:
                    yield one
            self.tell(len(wanted), len(wanted), "", skipped)

        self.done.extend(self._save(incoming()))

    def _read(self, entry: FoundFile, ref: Ref) -> Incoming | None:
        """Parse one file; a file that cannot be read is reported as failed."""
        try:
            data = self.files.bytes_of(entry)
            incoming = self._kept(self.files.incoming(ref, entry, data, self.kind_for(ref), self.fields))
        except Error as error:
            self.fail(str(ref), error)
            return None
        self._warn(ref, incoming.parsed)
        if incoming.parsed.fields.get("loading") == "always" and not incoming.vouched:
            self._untrusted[entry.path.parent] += 1
        return incoming

    def _kept(self, one: Incoming) -> Incoming:
        """The new version of an item. It keeps what people set on the old one, unless this call gives another value."""
        n = self.store.items.number(one.ref) if self.on_conflict == "overwrite" else None
        item = self.store.items.get(n) if n is not None else None
        if n is None or item is None or item.state == "deleted":
            return one
        state = self.store.files.states([n]).get(n)
        if state is not None:
            said = state.fields
        else:  # it has no file: the fields that its old text set are read from that text again
            before = parse_bytes(item.content.encode("utf-8", "surrogatepass"), one.ref.path, limits=self.files.limits)
            said = said_by(Incoming(one.ref, before))
        new = keeping(one, item, said)
        return replace(new, kind=self.kind or item.kind, fields={**new.fields, **one.parsed.fields, **self.fields})

    def _warn(self, ref: Ref, parsed: Parsed) -> None:
        self.notes.extend(f"{ref}: {warning}" for warning in parsed.warnings)

    def _save(self, incoming: Iterable[Incoming], *, durable: bool = False) -> Iterator[Saved]:
        """Save everything; secrets in what agents write are redacted first."""
        redacted: dict[str, tuple[str, ...]] = {}
        clean = (self._redacted(one, redacted) for one in incoming)
        for saved in self.pipeline.save_all(clean, on_conflict=self.on_conflict, durable=durable, backlog=self.backlog):
            yield replace(saved, redacted=redacted.pop(saved.ref)) if saved.ref in redacted else saved

    def _redacted(self, one: Incoming, redacted: dict[str, tuple[str, ...]]) -> Incoming:
        clean, found = without_secrets(one, allow=self.allow_secrets)
        if found:
            redacted[str(one.ref)] = found
        return clean

    def tell(
        self, done: int, total: int | None, label: str, before: int = 0, bytes_read: tuple[int, int] = (0, 0)
    ) -> None:
        """Report progress; ``before`` items were skipped without being read and do not count towards the speed.

        The time that is left is estimated from ``bytes_read`` (so far, and in all) where it is known, because files
        differ much in size.
        """
        if self.progress is None:
            return
        seconds = max(time.monotonic() - self.started, 1e-6)
        rate = done / seconds
        read, size = bytes_read
        eta = None
        if size:
            eta = seconds * (size - read) / read if read else None
        elif total is not None and rate:
            eta = (total - done) / rate
        whole = total + before if total is not None else None
        self.progress(Progress(done + before, whole, label, "adding", rate, eta, size))

    def _report(self) -> AddReport:
        untrusted = [
            f"{count:,} {'file' if count == 1 else 'files'} in {folder} marked for every agent: told as data until you"
            f" trust the folder (ricordo trust {folder})"
            for folder, count in self._untrusted.items()
        ]
        return AddReport(tuple(self.done), (*self.notes, *untrusted))


_UNREAD = ("image/", "audio/", "video/", "font/", "text/css", "text/javascript", "application/javascript",
           "application/octet-stream", "application/zip", "application/gzip")  # fmt: skip


class AddingPages:
    """The pages of one ``add``; the outcome of each goes into the report of ``adding``."""

    def __init__(self, adding: Adding, pages: PageReader, *, depth: int, sitemap: bool, most: int) -> None:
        self.adding = adding
        self.pages = pages
        self.depth = depth
        self.sitemap = sitemap
        self.most = most
        if depth or sitemap:
            pages.loader = None  # a language model is asked to load only pages that the user named

    def places(self, urls: Sequence[str]) -> list[Place]:
        """The refs of the pages; a URL that is not valid fails alone."""
        found: dict[Ref, Place] = {}
        for url in urls:
            try:
                place = self.pages.web.place(url)
            except Error as error:
                self.adding.fail(url, error)
            else:
                found.setdefault(place.ref, place)
        return list(found.values())

    def take(self, places: Sequence[Place], as_ref: Ref | None) -> None:
        """Add all pages one after the other; one that fails never stops the rest."""
        try:
            for count, place in enumerate(places, start=1):
                ref = as_ref or place.ref
                try:
                    self._named(place, ref)
                except StoreError:
                    raise
                except Error as error:
                    self.adding.fail(str(ref), error)
                self.adding.tell(count, len(places), str(ref))
        finally:
            self.pages.close()
        self.adding.notes.extend(self.pages.web.warnings)
        self.adding.notes.extend(self.pages.loader.notes if self.pages.loader is not None else ())

    def _named(self, place: Place, ref: Ref) -> None:
        if self.sitemap:
            self._follow(self.pages.web.sitemap_of(place.url, most=self.most))
            return
        is_known = self.adding.skips(ref)
        if is_known and not self.depth:
            return
        own = ref if ref != place.ref else None
        read = self.pages.load(place, own, self.adding.kind_for(ref), self.adding.fields)
        if isinstance(read, Incoming):
            self.adding.take_page(read)
            return
        data = read.page.data
        may_be_sitemap = data.lstrip()[:5] in (b"<?xml", b"<urls", b"<site") or data.startswith(b"\x1f\x8b")
        follow = self.pages.web.sitemap(read.page, most=self.most) if may_be_sitemap else None
        if follow is None:
            if not is_known:
                self.adding.take_page(read.incoming)
            if not self.depth:
                return
            follow = self.pages.web.following(read.page, depth=self.depth, most=self.most)
            follow.found(read.page.final_url, _links(read), read.page.final_url)
        self._follow(follow)

    def _follow(self, follow: Following) -> None:
        """Fetch the pages that follow, if they are new or if their links are needed."""
        done = 0
        while (url := follow.next()) is not None:
            place = self.pages.web.place(url)
            done += 1
            try:
                self._followed(follow, url, place)
            except StoreError:
                raise
            except NotFound as error:  # the user did not name this page, so a dead link is no failure
                self._pass_over(place.ref, error.message)
            except Error as error:
                self.adding.fail(str(place.ref), error)
            self.adding.tell(done, done + follow.left, str(place.ref))
        self.adding.notes.extend(follow.notes)

    def _followed(self, follow: Following, url: str, place: Place) -> None:
        is_known = self.adding.skips(place.ref)
        if is_known and not follow.leads_on(url):
            return
        follow.wait(url)
        page = self.pages.web.fetch(place, wanted=lambda mime: not mime.strip().lower().startswith(_UNREAD))
        if page.declined:
            self._pass_over(place.ref, f"not a page to read ({page.mime})")
            return
        read = self.pages.read(place, page, None, self.adding.kind, self.adding.fields)
        follow.found(url, _links(read), page.final_url)
        canonical = self.pages.web.canonical(page, read.about.get("canonical", ""))
        own = follow.own_address(page.final_url, canonical)
        if is_known:
            return
        if own is None:
            self._pass_over(place.ref, "the same page as another, or on another site")
        elif {"noindex", "none"} & set(read.about.get("robots", ())):
            self._pass_over(place.ref, "the page asks not to be kept (noindex)")
        elif own == place.url:
            self.adding.take_page(read.incoming)
        elif not self.adding.skips((own_place := self.pages.web.place(own)).ref):
            self.adding.take_page(self.pages.read(own_place, page, None, self.adding.kind, self.adding.fields).incoming)

    def _pass_over(self, ref: Ref, reason: str) -> None:
        self.adding.done.append(Saved(str(ref), "skipped", reason=reason))


def _links(read: ReadPage) -> Sequence[str]:
    if {"nofollow", "none"} & set(read.about.get("robots", ())):
        return ()
    links: Sequence[str] = read.about.get("links", ())
    return links
