"""Verbs for a store's health: status, doctor, profiles; and the repair of damaged texts."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ricordo import hook_log, registry
from ricordo.engine.context import NOT_TRUSTED, EngineContext
from ricordo.engine.copies import tried
from ricordo.engine.ingest import known_machines
from ricordo.engine.removal import RemoveVerbs
from ricordo.engine.tiers import waiting_for_user
from ricordo.errors import Error
from ricordo.patterns import late
from ricordo.plugin import ask, broken, installed
from ricordo.sources.disk import ref_path
from ricordo.store.base import Store
from ricordo.values.hits import Filters
from ricordo.values.items import Ref
from ricordo.values.reports import Check, Damage, DoctorReport
from ricordo.values.store_addresses import is_address
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.registry import Profiles
    from ricordo.search.pipeline import Searcher
    from ricordo.verbs.declare import Say


MOUNTS = Path("/proc/self/mountinfo")
_REMOTE = late(
    r"nfs\d?|cifs|smb\w*|ncpfs|afs|ceph|glusterfs|lustre|gpfs|beegfs|9p|davfs\d?|fuse\.(?:sshfs|s3fs|rclone|gcsfuse\w*)"
)
_ESCAPED = late(r"\\([0-7]{3})")


def network_kind(path: Path, mounts: Path = MOUNTS) -> str:
    """What kind of network file system a path lies on; empty when it is a local one, or when nobody can tell."""
    real = os.path.realpath(path)
    if real.startswith("\\\\"):
        return "a network drive"
    try:
        lines = mounts.read_text("utf-8", "replace").splitlines()
    except OSError:
        return ""
    best, kind = "", ""
    for line in lines:
        place, _, about = line.partition(" - ")
        point = _ESCAPED.sub(lambda found: chr(int(found[1], 8)), place.split()[4])
        is_above = real == point or real.startswith(point.rstrip("/") + "/")
        if is_above and len(point) >= len(best):
            best, kind = point, about.split()[0] if about else ""
    return kind if _REMOTE.fullmatch(kind) else ""


def mend_damage(context: EngineContext, restore: Callable[[Ref, int], object]) -> Check | None:
    """What was repaired, and what could not be; empty if nothing is damaged."""
    store = context.unsynced_store
    lines = [
        f"{one.ref} version {one.number}: from its file"
        for one in store.damage()
        if any(store.mend(one.n, one.number, text) for text in _texts(context, one))
    ]
    for one in store.damage():
        if one.is_head and one.sound is not None:
            try:
                restore(Ref.parse(one.ref), one.sound)
                lines.append(f"{one.ref}: version {one.number} is gone, version {one.sound} stands in")
            except Error as error:
                lines.append(f"{one.ref}: not mended, {error.message}")
    left = [one for one in store.damage() if one.is_head]
    lines += [f"{one.ref} version {one.number}: no sound copy was found" for one in left]
    return Check("mending", not left, "; ".join(lines)) if lines else None


def _texts(context: EngineContext, one: Damage) -> Iterator[str]:
    """What the files of an item say now."""
    from ricordo.ingest.formats.read import parse_bytes
    from ricordo.memory.files.format import read
    from ricordo.sources.disk import FoundFile

    if context.knowledge is not None:
        known = context.unsynced_store.knowledge.files_of([one.n])
        for file in known.values():
            try:
                yield read(context.knowledge.folder.read(file.name).data, file.name).text
            except (Error, OSError):
                continue
    if one.ref.startswith("disk:") and context.file_refs.is_here(ref := Ref.parse(one.ref)):
        files = context.files()
        for entry in files.at(ref_path(ref, context.file_refs)):
            if isinstance(entry, FoundFile):
                try:
                    yield parse_bytes(files.bytes_of(entry), entry.path.name, limits=files.limits).text
                except (Error, OSError):
                    continue


MOST_NAMED = 20
"""How many items that hold secrets, and tags, are named."""


class HealthVerbs(RemoveVerbs):
    """Says what a store holds and whether it is sound, and repairs what can be rebuilt."""

    @verb(
        "read",
        "look after",
        "Show the ranking profiles and their weights.",
        path="profiles list",
        examples=("ricordo profiles list",),
        storeless=True,
    )
    def profiles(self) -> Profiles:
        """The ways to rank, by name: the built-in ones and those of the settings. The one marked * is the default;
        --verbose shows weights.
        """
        return registry.profiles(self._context.config)

    @verb("read", "look after", "Show what the store holds.", examples=("ricordo status", "ricordo status --json"))
    def status(self) -> dict[str, Any]:
        """What the store holds and how it is."""
        context = self._context
        store, config = context.store, context.config
        status = {
            "store": context.location,
            "bytes": store.size(),
            **store.counts(),
            "roots": [root for root, _ in store.files.roots()],  # this machine's
            "backend": config.search.backend,
            "profile": config.search.profile,
            "untrusted_settings": list(config.untrusted),
            "secrets": store.secrets.counts(),
            "encrypted": None,
            "vectors": self._vectors(),
            "knowledge": context.knowledge.status() if context.knowledge is not None else None,
            "tags": {one.tag: one.count for one in store.overview.tags()[:MOST_NAMED]},
        }
        machines = [one.to_dict() for one in known_machines(context)]
        status |= {"machines": machines} if len(machines) > 1 else {}
        status |= {"not_trusted": NOT_TRUSTED} if context.projects.untrusted() else {}
        status |= {"review": line} if (line := waiting_for_user(context)) else {}
        status |= {"hooks": hooks} if (hooks := hook_log.week()) else {}
        ask("status", context, status)
        return status

    def _vectors(self) -> dict[str, Any]:
        """The model that is set, and how many passages have a vector or wait for one."""
        store, embedding = self._context.unsynced_store, self._context.config.embedding
        if embedding.provider == "none":
            return {"model": "none: search goes by words alone"}
        active = store.vectors.active_fingerprint()
        backlog = {name: n for name, n in store.jobs.summary().items() if name in ("pending", "running", "failed")}
        model = " ".join(part for part in (embedding.provider, embedding.model) if part)
        embedded = store.vectors.counts(active)["embedded"] if active else 0
        return {"model": model, "made_by": active, "made": embedded, **backlog}

    @verb(
        "write",
        "look after",
        "Check the store, and repair it on request.",
        is_long=True,
        examples=("ricordo doctor", "ricordo doctor --repair"),
    )
    def doctor(
        self,
        *,
        repair: Annotated[
            bool,
            Say(
                "Rebuild what can be rebuilt, erase what was in the bin for long enough, and free the space.",
                not_on={"http": "POST /doctor/repair does it", "mcp": "the user repairs the store"},
            ),
        ] = False,
    ) -> DoctorReport:
        """It checks the database, indexes, vectors, permissions and free space, and says what hooks failed or ran out
        of time. Each check stands for itself: one that fails does not hide the others. The command ends with 1 when a
        check fails and was not repaired.
        """
        # Without a look at the knowledge files: the doctor reports how they differ from the store.
        context = self._context
        store, path = context.unsynced_store, Path(context.location)
        checks: list[tuple[str, Callable[[bool], Check | None]]] = []
        if repair:
            checks.append(("mending", lambda _: mend_damage(context, self._restore_here)))
        if not is_address(context.location):
            checks += [
                ("permissions", partial(_permissions, path)),
                ("disk", lambda _: _disk(path)),
                ("file system", lambda _: _file_system(path)),
            ]
        checks += [
            *store.checks(),
            ("secrets", partial(_secrets, store)),
            ("language", self._language),
            *(
                (name, partial(plugin.load(place), context))
                for plugin in installed().values()
                for name, place in plugin.checks.items()
            ),
            ("trust", self._trust),
            ("plugins", self._plugins),
        ]
        checks.append(("use", lambda _: _use(store, context.tiers.unsynced_searcher)))
        if knowledge := context.knowledge:
            checks.append(("knowledge files", lambda repair: knowledge.check(repair=repair)))
        if repair:
            checks.append(("links and space", self._relink_and_vacuum))
        checks.append(("hooks", lambda _: Check("hooks", True, hook_log.summary())))
        reports = [_run(name, check, repair) for name, check in checks]
        return DoctorReport(tuple(report for report in reports if report is not None))

    def _relink_and_vacuum(self, repair: bool) -> Check:
        """Find the links in all texts again, erase what was in the bin for long enough, and free the space."""
        context = self._context
        context.flush_use()
        looked = context.unsynced_store.links.relink()
        done = context.unsynced_store.transfer.vacuum(
            bin_days=context.config.store.bin_days, full=False, keep=context.models.fallback_fingerprints()
        )
        freed = (
            f"{done.emptied:,} items erased from the bin, {(done.bytes_before - done.bytes_after) / 1e6:.1f} MB freed"
        )
        return Check("links and space", True, f"links of {looked:,} items found again, {freed}")

    def _trust(self, repair: bool) -> Check | None:
        """Whether the user trusts the projects whose stores are open; nothing to repair, only the user can."""
        untrusted = self._context.projects.untrusted()
        return Check("trust", True, f"{NOT_TRUSTED} ({', '.join(map(str, untrusted))})") if untrusted else None

    def _plugins(self, repair: bool) -> Check | None:
        """Whether plugins of other packages could be loaded; nothing to repair, only the user can."""
        problems = [f"{name} cannot be used ({type(why).__name__}: {why})" for name, why in broken().items()]
        return Check("plugins", False, f"{'; '.join(problems)}. Reinstall or remove the package.") if problems else None

    def _language(self, repair: bool) -> Check:
        """Whether words are indexed in the language that the settings name; with ``repair`` they are from then on."""
        store, config = self._context.unsynced_store, self._context.config
        wanted, before = config.lexical.language, store.language
        if wanted == before or config.source("lexical.language") == "default":
            return Check("language", True, f"words are indexed as {before}")
        differs = f"words are indexed as {before}, and lexical.language is {wanted}"
        if repair:
            store.transfer.adopt_language(wanted, rebuild=True)
            return Check("language", False, differs, repaired=True)
        return Check("language", True, f"{differs}: 'ricordo doctor --repair' indexes them again")


def _use(store: Store, searcher: Searcher) -> Check:
    items, failing = tried(store, searcher)
    said = "; ".join(failing[:MOST_NAMED]) or f"{items:,} items can be listed and read, and searches answer"
    return Check("use", not failing, said)


def _run(name: str, check: Callable[[bool], Check | None], repair: bool) -> Check | None:
    """Run one check; an error in a damaged store becomes its result, so that the other checks still run."""
    try:
        return check(repair)
    except Error as error:
        return Check(name, False, f"{error.message}. {error.hint}".strip())
    except Exception as error:  # noqa: BLE001 - a damaged row can make any code stumble, and the report must still come
        return Check(name, False, f"this check stumbled over what is stored ({type(error).__name__}: {error})")


def _secrets(store: Store, repair: bool) -> Check:
    """Which stored texts seem to hold secrets. They are reported and not changed; ``repair`` scans all texts again."""
    if repair:
        from ricordo.secrets.find import secret_counts

        known = {str(ref): counts for ref, counts in store.secrets.refs()}
        found = ((n, str(ref), secret_counts(text)) for n, ref, text, _ in store.items.texts(Filters()))
        store.secrets.note({n: counts for n, ref, counts in found if counts != known.get(ref, {})})
    holders = store.secrets.refs()
    if not holders:
        return Check("secrets", True, "none found in the texts")
    named = [f"{ref} ({', '.join(counts)})" for ref, counts in holders[:MOST_NAMED]]
    more = f" and {len(holders) - len(named):,} more" if len(holders) > len(named) else ""
    return Check("secrets", True, f"{len(holders):,} items seem to hold some: {', '.join(named)}{more}")


def _permissions(path: Path, repair: bool) -> Check:
    if os.name != "posix":
        return Check("permissions", True, "kept by the system's own rules")
    loose = [
        name
        for tail in ("", "-wal", "-shm")
        if (name := Path(f"{path}{tail}")).exists() and stat.S_IMODE(name.stat().st_mode) & 0o077
    ]
    if not loose:
        return Check("permissions", True, "only you can read the store")
    if repair:
        for name in loose:
            name.chmod(0o600)
    return Check("permissions", False, f"others may read {', '.join(map(str, loose))}", repaired=repair)


def _disk(path: Path) -> Check:
    import shutil

    free = shutil.disk_usage(path.parent).free
    return Check("disk", free > 100_000_000, f"{free / 1e9:.1f} GB free")


def _file_system(path: Path) -> Check:
    kind = network_kind(path)
    if not kind:
        return Check("file system", True, "local, as far as the system tells")
    return Check(
        "file system",
        False,
        f"the store lies on {kind}, which is reached over a network: when two machines use it, they can damage it. "
        "Keep it on a local disk, or use PostgreSQL for a team",
    )
