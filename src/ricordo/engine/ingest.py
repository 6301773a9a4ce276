"""Verbs that bring in files, folders and pages, keep them current and follow what moved: add, refresh, watch, roots."""

from __future__ import annotations

import os
import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo.config.machine import name_machine, this_machine
from ricordo.engine.checks import check_choice, check_type, texts
from ricordo.engine.context import EngineContext, OpenEngine
from ricordo.engine.finding import FindVerbs
from ricordo.engine.items import adding_to
from ricordo.engine.reading import ReadVerbs
from ricordo.engine.removal import RemoveVerbs
from ricordo.errors import Error, NotFound, Unavailable, UsageError
from ricordo.permissions import refuse_agents, refuse_files, refuse_secrets
from ricordo.plugin import ask
from ricordo.secrets.private import without_private
from ricordo.sources.disk import absolute, disk_ref, ref_path
from ricordo.values.items import DISK, UNKNOWN_MACHINE, Ref
from ricordo.values.kinds import KINDS, ON_CONFLICT
from ricordo.values.reports import AddReport, KnownMachine, Progress, Refreshed, RefreshReport, Root
from ricordo.verbs.declare import WATCHED, verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.ingest.add import Adding, Pages, PageSource
    from ricordo.ingest.refresh import Refresher
    from ricordo.store.values import FileState
    from ricordo.values.reports import SyncReport, WatchEvent
    from ricordo.verbs.declare import ADDED_TEXT, Say
    from ricordo.verbs.parameters import (
        NAME_TEXT,
        REF_TEXT,
        AllowSecrets,
        DryRun,
        FieldsToSet,
        IfTaken,
        KindOfItem,
        PathName,
        Prune,
        Wait,
    )


def moved(context: EngineContext, n: int, ref: Ref, target: Ref, *, state: FileState | None) -> Refreshed:
    """Give one item its new ref; its text, its vectors and its history stay."""
    store = context.store
    try:
        draft = replace(store.items.draft(n, store.items.get_many([n])[n].version), ref=target)
        prepared = context.pipeline.prepare_draft(draft, state)
        saved = store.changes.rewrite(n, prepared, backlog=context.models.backlog())
    except Error as error:
        return Refreshed(str(ref), "failed", error.to_dict())
    return Refreshed(str(target), "moved", chunks=saved.chunks)


def described(context: EngineContext, n: int, ref: Ref, *, before: str, after: str) -> Refreshed:
    """Give an item of a folder the line about it, unless it has a context of its own."""
    store = context.store
    try:
        item = store.items.get_many([n])[n]
        if item.fields.context != before or before == after:
            return Refreshed(str(ref), "unchanged")
        draft = store.items.draft(n, item.version)
        prepared = context.pipeline.prepare_draft(replace(draft, fields=draft.fields.with_changes({"context": after})))
        saved = store.changes.rewrite(n, prepared, backlog=context.models.backlog())
    except Error as error:
        return Refreshed(str(ref), "failed", error.to_dict())
    return Refreshed(str(ref), "updated", chunks=saved.chunks)


def known_machines(context: EngineContext) -> list[KnownMachine]:
    """This machine, then the others that have files in the store."""
    store, refs, this = context.store, context.file_refs, this_machine()
    files = Counter(refs.owner(ref) for _, ref, _ in store.items.refs_below(DISK, "/"))
    owners = {machine for machine, *_ in store.files.all_roots()} | files.keys()
    names = store.machines.names() if owners - {this.id} else {}
    others = [
        KnownMachine(machine, (names.get(machine) or machine) if machine else UNKNOWN_MACHINE, files[machine])
        for machine in sorted(owners - {this.id})
    ]
    return [KnownMachine(this.id, this.name, files[this.id], is_here=True), *others]


SAMPLE = 50
"""How many items are looked at to find out whether, and from where, a project was moved."""


class RootVerbs(OpenEngine):
    """Lists and leaves the folders that were added, and follows those that moved."""

    @verb(
        "read",
        "add",
        "List the folders that were added.",
        path="roots list",
        answers="roots",
        examples=("ricordo roots list",),
    )
    def roots(self) -> tuple[Root, ...]:
        """The folders that were added, and how many items each has. Files and folders belong to the machine on which
        they were added: others show them, and never change them; ``status`` lists the machines.
        """
        store, refs = self._context.store, self._context.file_refs
        found = store.files.all_roots()
        names = store.machines.names() if any(machine != refs.here for machine, *_ in found) else {}

        def shown(machine: str, path: str, globs: tuple[str, ...], about: str) -> Root:
            place = disk_ref(Path(path)).path if machine == refs.here else f"/{path.lstrip('/')}".replace("\\", "/")
            count = len(store.items.refs_below("disk", refs.path(place, machine)))
            if machine == refs.here:
                return Root(path, globs, count, Path(path).is_dir(), about=about)
            return Root(path, globs, count, about=about, machine=names.get(machine, machine) or UNKNOWN_MACHINE)

        return tuple(shown(*one) for one in found)

    @verb(
        "admin",
        "add",
        "Give this machine another name.",
        path="roots name",
        answers="machine",
        examples=("ricordo roots name laptop",),
        not_on={"http": "the user names a machine", "mcp": "the user names a machine"},
    )
    def name_machine(self, name: Annotated[str, Say("Its new name.", longest=NAME_TEXT)]) -> str:
        """Others that have this store show it beside the files of this machine."""
        machine = name_machine(name)
        self._context.store.machines.note_this()
        return machine.name

    @verb(
        "files", "add", "Leave a folder, and keep its items.", path="roots rm", examples=("ricordo roots rm ~/notes",)
    )
    def forget_root(self, path: Annotated[str | Path, Say("The folder.", longest=REF_TEXT, shown="FOLDER")]) -> Root:
        """``refresh`` finds no more new files in it. Its items stay until they are removed."""
        root = self._added(path)
        self._context.store.files.forget_root(root.path)
        return root

    def _added(self, path: str | Path) -> Root:
        """The folder of this machine that was added."""
        wanted = absolute(Path(os.path.expanduser(path)))  # noqa: PTH111
        known = {root.path: root for root in self.roots() if not root.machine}
        if wanted not in known:
            listed = ", ".join(known) or "none"
            raise NotFound(f"{wanted} is not a folder that was added", hint=f"Folders that were added: {listed}.")
        return known[wanted]

    @verb(
        "files",
        "add",
        "Say what a folder holds, which is told with every hit in it.",
        path="roots describe",
        examples=(
            "ricordo roots describe ~/board 'minutes of the board, 2019–2024'",
            "ricordo roots describe ~/board ''",
        ),
        is_long=True,
    )
    def describe_root(
        self,
        path: Annotated[str | Path, Say("The folder, as it was added.", longest=REF_TEXT, shown="FOLDER")],
        about: Annotated[str, Say("What it holds, in a line; an empty one takes it back.", longest=NAME_TEXT)],
        *,
        wait: Wait = True,
    ) -> RefreshReport:
        """The line becomes the field ``context`` of every item in the folder, now and of files that come later: it is
        searched by words and by meaning, and told in searches, contexts and by tools. An item with a context of its own
        keeps that; of folders in each other, the inner one counts. Each item gets a new version and new vectors.
        """
        from ricordo.ingest.files import folder_line

        refuse_agents("say what a folder holds")
        check_type("about", about, str)
        root, files = self._added(path), self._context.store.files
        before = files.descriptions()
        files.remember_root(root.path, root.globs, " ".join(without_private(about).split()))
        after, refs = files.descriptions(), self._context.file_refs
        below = self._context.store.items.refs_below("disk", disk_ref(Path(root.path), refs).path)
        done = [
            described(self._context, n, ref, before=folder_line(file, before), after=folder_line(file, after))
            for n, ref, file in ((n, ref, ref_path(ref, refs)) for n, ref, _ in below if refs.is_here(ref))
        ]
        return self._context.embed_after(RefreshReport(tuple(done)), wait)

    @verb(
        "files",
        "add",
        "Say that files were moved, or take over another machine's files.",
        path="roots move",
        examples=("ricordo roots move ~/old/notes ~/new/notes", "ricordo roots move --from-machine laptop"),
    )
    def relocate(
        self,
        old: Annotated[str | Path, Say("Where they were.", longest=REF_TEXT)] | None = None,
        new: Annotated[str | Path, Say("Where they are now.", longest=REF_TEXT)] | None = None,
        *,
        from_machine: Annotated[
            str,
            Say("Take over all files of this machine (name or id), which is gone.", longest=NAME_TEXT, shown="NAME"),
        ]
        | None = None,
    ) -> RefreshReport:
        """What was added from ``old`` gets the refs of the same files in ``new``.

        History, fields and vectors stay. A project that is moved with its store is followed by ``refresh`` by itself.
        With ``from_machine``, the files that were added on that machine belong to this one from now on, at the same
        paths, or with ``old`` and ``new`` at other ones.
        """
        taken = self._take_over(from_machine) if from_machine is not None else None
        if taken is not None and old is None and new is None:
            return taken
        if old is None or new is None:
            raise UsageError("to move files needs two places", hint="Name the old place, then the new one.")
        moved = self._relocate(old, new)
        return moved if taken is None else replace(moved, items=(*taken.items, *moved.items))

    def _take_over(self, name: str) -> RefreshReport:
        """Make the files of another machine this one's. A file that this machine has at the same path stays what it
        is, and the other one stays with its machine.
        """
        context, store, refs = self._context, self._context.store, self._context.file_refs
        others = [one for one in known_machines(context) if not one.is_here]
        named = [one for one in others if name and name in (one.id, one.name)]
        if len(named) != 1:
            listed = ", ".join(f"{one.name} ({one.id})" if one.id else one.name for one in others)
            if named:
                raise UsageError(f"several machines are called {name}", hint=f"Say the id: {listed}.")
            raise NotFound(
                f"no other machine {name} has files in this store", hint=f"Others with files: {listed or 'none'}."
            )
        machine = named[0].id
        files = [(n, ref) for n, ref, _ in store.items.refs_below(DISK, "/")]
        theirs = [(n, ref) for n, ref in files if refs.owner(ref) == machine]
        mine = [(n, ref) for n, ref in files if refs.owner(ref) == refs.here]
        store.machines.note_this()
        if machine and machine == refs.home:  # the plain refs become this machine's
            store.files.take_over_roots(machine)
            return RefreshReport((*(Refreshed(str(ref), "moved") for _, ref in theirs), *self._renamed(mine)))
        report = RefreshReport(self._renamed(theirs))
        store.files.take_over_roots(machine)
        return report

    def _renamed(self, files: Sequence[tuple[int, Ref]]) -> tuple[Refreshed, ...]:
        """Give files the refs that files of this machine have in the store."""
        refs = self._context.file_refs
        states = self._context.store.files.states([n for n, _ in files])
        return tuple(
            moved(self._context, n, ref, target, state=states.get(n))
            for n, ref in files
            if ref != (target := refs.ref(ref.place))
        )

    def _relocate(self, old: str | Path, new: str | Path) -> RefreshReport:
        refs = self._context.file_refs
        before, after = (disk_ref(Path(os.path.expanduser(path)), refs).path for path in (old, new))  # noqa: PTH111
        place = ref_path(Ref("disk", after), refs)
        if not place.exists():
            raise UsageError(
                f"there is no file or folder {place}", hint="Name the place where the files are now, after the old one."
            )
        if before == after:
            raise UsageError("both names are the same", hint="Name the old place, then the new one.")
        below = self._context.store.items.refs_below("disk", before)
        items = [(n, ref) for n, ref, _ in below if refs.is_here(ref)]
        files = self._context.store.files
        added = [(root, globs, disk_ref(Path(root), refs).path) for root, globs in files.roots()]
        roots = [row for row in added if row[2] == before or row[2].startswith(f"{before.rstrip('/')}/")]
        if not items and not roots:
            raise NotFound(f"nothing was added from {before}", hint="‹:roots› and ‹:tree› show what was.")
        states = files.states([n for n, _ in items])
        done = [
            moved(self._context, n, ref, Ref("disk", f"{after}{ref.path[len(before) :]}"), state=states.get(n))
            for n, ref in items
        ]
        about = files.descriptions()
        for root, globs, path in roots:
            files.forget_root(root)
            place = ref_path(Ref("disk", f"{after}{path[len(before) :]}"), refs)
            files.remember_root(str(place), globs, about.get(root, ""))
        return RefreshReport(tuple(done))

    def _follow_project(self) -> RefreshReport | None:
        """If the project that holds this store was moved, let the refs of its files follow; None if it was not."""
        store_folder = Path(self._context.location).absolute().parent
        if store_folder.name != ".ricordo":
            return None
        project = store_folder.parent
        before = self._left_place(project)
        if before is None:
            return None
        report = self._relocate(before, project)
        count = report.count("moved")
        note = f"the project moved from {before} to {project}: {count:,} item{'' if count == 1 else 's'} followed"
        return replace(report, notes=(note,))

    def _left_place(self, project: Path) -> str | None:
        """The old folder of the project: most missing files were below it, at the path that they have in the project
        now.
        """
        refs = self._context.file_refs
        items = [one for one in self._context.store.items.refs_below("disk", "/") if refs.is_here(one[1])]
        sample = items[:: max(1, len(items) // SAMPLE)][:SAMPLE]
        states = self._context.store.files.states([n for n, _, _ in sample])
        places = {n: ref_path(ref, refs) for n, ref, _ in sample if n in states}
        missing = [n for n, path in places.items() if not path.exists()]
        found: Counter[str] = Counter()
        for n in missing:
            parts = places[n].parts
            for at in range(1, len(parts)):
                now = project.joinpath(*parts[at:])
                if now.is_file() and now.stat().st_size == states[n].size:
                    found[str(Path(*parts[:at]))] += 1
                    break
        if not found:
            return None
        place, count = found.most_common(1)[0]
        is_apart = place != str(project) and not Path(place, ".ricordo").exists()
        return place if is_apart and 2 * count > len(missing) else None


MOST_PAGES = 200
"""How many pages one add takes from links or a sitemap, unless the caller says another number."""


class AddVerbs(RootVerbs, FindVerbs, ReadVerbs, RemoveVerbs):
    """Brings in files, folders and pages, and keeps their items current."""

    @verb(
        "write",
        "add",
        "Add files, folders, globs, URLs or standard input.",
        is_long=True,
        examples=(
            "ricordo add notes/ report.pdf",
            "ricordo add src/ --glob '*.py' --tag code",
            "ricordo add . --history",
            "ricordo add https://example.org/guide --depth 2",
            "git log | ricordo add - --as note:/log",
        ),
        creates=True,
    )
    def add(
        self,
        *sources: Annotated[
            str | Path,
            Say(
                "A file, a folder, a glob or a URL.",
                low=1,
                longest=REF_TEXT,
                shown="PATH|GLOB|URL|-",
                example="https://example.org/page",
            ),
        ],
        kind: KindOfItem | None = None,
        fields: FieldsToSet | None = None,
        on_conflict: IfTaken = "skip",
        as_ref: Annotated[str, Say("Store the one item under this ref.", name="as", longest=REF_TEXT, shown="REF")]
        | None = None,
        text: Annotated[str | bytes, Say("The text itself, instead of a source.", not_on=ADDED_TEXT)] | None = None,
        globs: Annotated[
            Sequence[str],
            Say(
                "Of a folder, only files that match (repeatable).",
                name="glob",
                http="globs",
                shown="PATTERN",
                longest=NAME_TEXT,
            ),
        ] = (),
        follow_links: Annotated[bool, Say("Also follow links that lead out of a folder.")] | None = None,
        depth: Annotated[
            int,
            Say(
                "Also add the pages that a page of the site links to, N steps far.",
                0,
                20,
                most=10,
                shown="N",
                plugin="web",
            ),
        ] = 0,
        sitemap: Annotated[bool, Say("Add the pages that the sitemap of the site lists.", plugin="web")] = False,
        max_pages: Annotated[int, Say("Add at most N pages of a site.", 1, most=10_000, shown="N", plugin="web")]
        | None = None,
        history: Annotated[bool, Say("Also add the commits of the git repository.", plugin="history")] = False,
        prompt_addition: Annotated[
            str, Say("A note to the language model that loads pages.", longest=10_000, shown="TEXT", plugin="llm")
        ] = "",
        transcript: Callable[[str], None] | None = None,
        allow_secrets: AllowSecrets = False,
        dry_run: DryRun = False,
        wait: Wait = True,
        progress: Callable[[Progress], None] | None = None,
    ) -> AddReport:
        """Take in files, folders and URLs, or ``text`` under the ref ``as_ref``. One bad one never stops the rest.

        Links in a folder that lead out of it are left out and named, unless ``follow_links`` or the setting
        ``ingest.follow_symlinks`` says otherwise. From a URL, ``depth`` follows the links of its site step by step,
        and ``sitemap`` takes what the site's sitemap names, both up to ``max_pages``. ``prompt_addition`` goes to a
        model that loads pages, and ``transcript`` is called with what that model does. ``history`` also adds each
        commit of the repository as an item, and ``refresh`` adds the new ones later. Under the ref of a memory or note,
        secrets are redacted unless allowed. With ``dry_run`` nothing is read or written; the report says what would be
        added.
        """
        from ricordo.secrets.redaction import redact_item

        check_choice("on_conflict", on_conflict, ON_CONFLICT)
        refuse_files(sources)
        refuse_secrets(allowed=allow_secrets)
        for source in sources:
            check_type("what is added", source if not isinstance(source, Path) else str(source), str)
            if not str(source).strip():
                raise UsageError("what is added has no name", hint="Name a file, a folder or a URL; . is this folder.")
        if kind is not None:
            check_choice("kind", kind, KINDS)
        adding = adding_to(
            self._context,
            on_conflict,
            progress,
            kind=kind,
            fields=redact_item(kind or "document", "", fields or {}, allow_secrets=allow_secrets)[1],
            allow_secrets=allow_secrets,
            follow_links=follow_links,
            dry_run=dry_run,
        )
        if text is not None:
            if dry_run:
                raise UsageError("a dry run needs files, folders or URLs", hint="Leave out ‹dry_run› for a text.")
            if as_ref is None:
                raise UsageError(
                    "text from standard input needs a name", hint="Say where it goes: ‹as_ref=note:/my-note›"
                )
            return self._context.embed_after(adding.text(self._context.resolve_new(as_ref), text), wait, progress)
        if as_ref is not None and len(sources) != 1:
            raise UsageError(
                "‹as_ref› names one item, so it goes with one file", hint="Leave out ‹as_ref›, or add one file."
            )
        if as_ref is not None and (depth or sitemap):
            raise UsageError(
                "‹as_ref› names one item, and a site has many", hint="Leave out ‹as_ref›, ‹depth› or ‹sitemap›."
            )

        def pages(adding: Adding, urls: Sequence[str]) -> Pages:
            reader = self._page_reader(prompt_addition, transcript)
            if reader is None:
                raise Unavailable(
                    "no plugin reads pages", hint="Install the plugin 'web', or save the page and add the file."
                )
            return reader.pages(adding, urls, depth=depth, sitemap=sitemap, most=max_pages or MOST_PAGES)

        if wait and adding.backlog is not None:
            adding.make_vectors = lambda most: self._context.embed_waiting(limit=most).embedded
        ref = self._context.resolve_new(as_ref) if as_ref else None
        report = adding.sources(sources, globs=texts("globs", globs), as_ref=ref, pages=pages)
        if history and not dry_run:
            report = adding.history(sources)
        return report if dry_run else self._context.embed_after(report, wait, progress)

    def _page_reader(
        self, prompt_addition: str = "", transcript: Callable[[str], None] | None = None
    ) -> PageSource | None:
        return next(iter(ask("page_reader", self._context, prompt_addition, transcript)), None)

    @verb(
        "write",
        "add",
        "Read items again from where they came from.",
        is_long=True,
        examples=(
            "ricordo refresh --all",
            "ricordo refresh notes/ url:/https://example.org/page",
            "ricordo refresh tool:/git",
        ),
    )
    def refresh(
        self,
        *refs: Annotated[str | Path | Ref, Say("What to read again.", longest=REF_TEXT, shown="REF")],
        all: Annotated[bool, Say("Everything that came from a file or page.", short="-a")] = False,  # noqa: A002
        prune: Prune = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> RefreshReport:
        """Read items again from where they came from, and take in what is new below added folders.

        Tools of MCP servers that the user took in are asked for again, which starts those servers.
        """
        if all == bool(refs):
            raise UsageError("say what to refresh", hint="Name refs or folders, or use ‹all›: not both, not neither.")
        moved = self._follow_project()
        self._context.program_notes.take_in(now=True)
        refresher = self._refresher(progress)
        work = refresher.everything() if all else refresher.named([self._context.resolve(ref) for ref in refs])
        report = self._context.embed_after(refresher.run(work, prune=prune), True, progress)
        if moved is not None:
            report = replace(report, items=(*moved.items, *report.items), notes=(*moved.notes, *report.notes))
        return self._after_refresh(report)

    def _after_refresh(self, report: RefreshReport) -> RefreshReport:
        """The report, with what a plugin refreshed besides."""
        return report

    def _refresher(self, progress: Callable[[Progress], None] | None = None) -> Refresher:
        from ricordo.ingest.refresh import Refresher

        return Refresher(
            self._context.store,
            self._context.pipeline,
            self._context.files(),
            self._context.models.backlog(),
            progress=progress,
            page_reader=self._page_reader,
        )

    @verb(
        "write",
        "add",
        "Read knowledge files that were changed by hand.",
        is_long=True,
        examples=("ricordo sync", "ricordo sync --write"),
        creates=True,
    )
    def sync(
        self,
        *,
        write: Annotated[bool, Say("Write files that are gone again, instead of removing their items.")] = False,
        wait: Wait = True,
        progress: Callable[[Progress], None] | None = None,
    ) -> SyncReport:
        """Take in what was done to the knowledge files, and write those that are missing for items that never had one.

        A file that is gone takes its item to the bin; with ``write`` it is written again instead. What was changed
        both in its file and in the store is a conflict: both are kept as versions, the file's is the current one.
        """
        knowledge = self._context.knowledge
        if knowledge is None:
            raise Unavailable(
                f"the store {self._context.location} keeps no knowledge files",
                hint="Set knowledge.folder to where they are to be; knowledge.enabled must be true.",
            )
        return self._context.embed_after(knowledge.sync(write=write), wait, progress)

    @verb(
        "files",
        "add",
        "Keep folders up to date while they change.",
        not_on=WATCHED,
        examples=("ricordo watch notes/", "ricordo watch . --quiet", "ricordo watch"),
        creates=True,
    )
    def watch(
        self,
        *paths: PathName,
        on_event: Callable[[WatchEvent], None] | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        """Follow folders and keep their items current, until ``stop`` is set or the process is interrupted.

        The knowledge folder is followed in any case.
        """
        from ricordo.ingest.watch import Watcher

        knowledge = self._context.knowledge.folder.path if self._context.knowledge is not None else None
        if knowledge is None and not paths:
            raise UsageError(
                "there is nothing to watch", hint="Name files or folders; this store has no knowledge folder."
            )
        if knowledge is not None:
            knowledge.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._context.unreported = deque()
        try:
            watcher = Watcher(
                self._context.store, self._refresher, self._embed_some, knowledge, sync=self._take_in_files
            )
            watcher.run(paths, stop or threading.Event(), on_event or (lambda event: None))
        finally:
            self._context.unreported = None

    def _take_in_files(self, look: bool) -> RefreshReport:
        """What was taken in from knowledge files since the last call; with ``look``, what changed by now as well.

        Any verb of this process may take in an edit before the watcher does, and that is reported all the same.
        """
        context = self._context
        found = context.knowledge.catch_up(at_once=True) if look and context.knowledge is not None else None
        unreported = context.unreported or deque()
        done = [unreported.popleft() for _ in range(len(unreported))]
        if found is not None:
            done.append(found)
        items = tuple(Refreshed(one.ref, one.status, one.error) for report in done for one in report.items)
        return RefreshReport(items, notes=tuple(note for report in done for note in report.notes))

    def _embed_some(self, limit: int) -> int:
        done = self._context.embed_waiting(limit=limit)
        return 0 if done.stopped else done.embedded + done.cached
