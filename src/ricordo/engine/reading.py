"""Verbs that show what is stored: get, list, tree, history, diff, grep and others."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ricordo import registry
from ricordo.engine.checks import check_filters, check_number, check_type, refuse_binned, texts
from ricordo.engine.context import OpenEngine, with_settings_of_its_start
from ricordo.engine.items import cited_now, replacement
from ricordo.engine.tiers import follows
from ricordo.errors import NotFound, Unavailable, UsageError
from ricordo.plugin import ask
from ricordo.search.grep import grep_texts, tree_of
from ricordo.search.query import both, parse_query
from ricordo.values.hits import Evidence, Filters, GrepMatch
from ricordo.values.items import Item, Listing, TreeNode, Versions, elsewhere
from ricordo.values.kinds import REMEMBERED_KINDS
from ricordo.values.times import moment_of
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Annotated

    from ricordo.store.base import Store
    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import (
        DATE_TEXT,
        MOST_VERSIONS,
        NAME_TEXT,
        QUERY_TEXT,
        REF_TEXT,
        ItemName,
        Limit,
        Offset,
        VersionNumber,
    )


class ReadVerbs(OpenEngine):
    """Shows items as they are and were; it changes nothing but the records of use."""

    @verb(
        "read",
        "find",
        "Find lines of stored text by a regular expression.",
        answers="matches",
        examples=("ricordo grep 'def \\w+_token' --glob '*.py'", "ricordo grep --fixed 'rotate_keys(' -C 2"),
    )
    def grep(
        self,
        pattern: Annotated[
            str, Say("The regular expression.", longest=10_000, shown="PATTERN", example="retry.*backoff")
        ],
        *,
        context: Annotated[int, Say("Lines before and after each match.", 0, most=50, short="-C", shown="N")] = 0,
        globs: Annotated[
            Sequence[str], Say("Only paths that match.", name="glob", short="-g", shown="GLOB", longest=NAME_TEXT)
        ] = (),
        drives: Annotated[
            Sequence[str], Say("Only this drive.", name="drive", short="-d", shown="DRIVE", longest=NAME_TEXT)
        ] = (),
        ignore_case: Annotated[bool, Say("Ignore upper and lower case.", short="-i")] = False,
        fixed: Annotated[bool, Say("The pattern is plain text.", short="-F")] = False,
        limit: Limit = 100,
    ) -> builtins.list[GrepMatch]:
        """Newest items come first."""
        check_type("pattern", pattern, str)
        check_number("limit", limit, 1)
        check_number("context", context)
        filters = Filters(drives=texts("drives", drives), paths=texts("globs", globs))
        return grep_texts(
            self._context.store,
            pattern,
            filters,
            context=context,
            ignore_case=ignore_case,
            fixed=fixed,
            limit=limit,
        )

    @verb(
        "read",
        "find",
        "Print an item's text, or its fields.",
        examples=(
            "ricordo get notes/keys.md",
            "ricordo get notes/keys.md:8-12",
            "ricordo get memory:/login-bug --meta",
            "ricordo get notes/keys.md --version 2 > old.md",
        ),
    )
    @with_settings_of_its_start
    def get(
        self,
        ref: ItemName,
        *,
        version: VersionNumber | None = None,
        as_of: Annotated[datetime | str, Say("The version that was current then.", longest=DATE_TEXT, shown="DATE")]
        | None = None,
        lines: Annotated[tuple[int, int], Say("Only these lines, as search counts them.", shown="N|N-M")] | None = None,
        passages: Annotated[bool, Say("Also show the passages that it is cut into, which search compares.")] = False,
        track: Annotated[bool, Say("Count this as opening the item (default) or not.")] | None = None,
    ) -> Item:
        """An item with its content: now, in one version, or as it was at a time. This counts as opening it. A memory
        says what became of what it cites, with what changed there.

        ``lines`` gives the first and the last line to return, counted as hits count them; the content holds only
        these then, and ``first_line`` says where they begin.
        """
        check_number("version", version, 1, optional=True)
        tier, n = self._context.tiers.holder(ref)
        store, config = tier.store, self._context.config
        with store.index.snapshot():
            if as_of is not None:
                version = _version_at(store, n, str(ref), moment_of(as_of))
            item = store.items.get(n, version=version)
            if version is None:
                refuse_binned(item)
            item = replace(
                item,
                tier=tier.name,
                machine=store.machines.elsewhere([str(item.ref)]).get(str(item.ref), ""),
                apart=_apart(store, item.id),
                cites=cited_now(store, item) if version is None else (),
                passages=_passages(store, n, item.version) if passages else (),
                **replacement(store, n, item),
            )
        tracker = self._context.tiers.tracker_of(tier)
        if tracker is not None and track is not False:
            tracker.opened(item, settings=config.usage)
        return item if lines is None else _some_lines(item, lines)

    def place_of(self, ref: ItemName) -> str:
        """Where an item can be opened: the path of its file or Markdown file, or the URL of its page."""
        tier, n = self._context.tiers.holder(ref)
        item = tier.store.items.get_many([n])[n]
        if item.ref.drive == "disk":
            if machines := tier.store.machines.elsewhere([str(item.ref)]):
                raise elsewhere(item.ref, machines[str(item.ref)])
            return item.ref.place
        path = self._context.knowledge_file(tier.store, n)
        if path is not None:
            return str(path)
        url = item.fields.source_url or item.ref.path.lstrip("/")
        if url.startswith(("https://", "http://")):
            return url
        raise UsageError(
            f"{item.ref} is neither a file nor a page", hint=f"‹:edit {item.ref}› opens its text in your editor."
        )

    def original(self, ref: ItemName, *, version: int | None = None) -> bytes:
        """The bytes of an item that is kept without text; for any other, its text in UTF-8."""
        tier, n = self._context.tiers.holder(ref)
        item = tier.store.items.get(n, version=version)
        if version is None:
            refuse_binned(item)
        blob = tier.store.items.draft(n, item.version).blob
        if blob is None and not item.fields.is_textual:
            if (data := registry.same_bytes(item, tier.store.machines.refs())) is not None:
                return data
            raise Unavailable(
                f"the bytes of {item.ref} are not kept in the store",
                hint="Its file is gone or changed. With ingest.keep_binaries, bytes are kept when a file is added.",
            )
        return blob if blob is not None else item.content.encode("utf-8", "surrogatepass")

    @verb(
        "read",
        "find",
        "List items, newest first.",
        examples=(
            "ricordo list",
            "ricordo list --kind memory --tag ops",
            "ricordo list state:archived",
            "ricordo list --path '/home/me/notes/**' --json",
        ),
    )
    def list(
        self,
        query: Annotated[
            str,
            Say(
                "Filters as in a search, such as state:archived.",
                longest=QUERY_TEXT,
                http="q",
                shown="FILTER",
                argument=True,
            ),
        ] = "",
        *,
        filters: Filters | None = None,
        limit: Limit = 50,
        offset: Offset = 0,
    ) -> Listing:
        """Items come without their content. state:archived lists what was forgotten, superseded or corrected,
        state:deleted what is in the bin.
        """
        check_number("limit", limit)
        check_number("offset", offset)
        filters = _conditions(query, filters)
        store = self._context.tiers.store_of(filters)
        rows = store.items.listing(filters, limit, offset)
        machines = store.machines.elsewhere(str(item.ref) for _, item in rows)
        unnamed = [n for n, item in rows if not item.fields.title and item.kind in REMEMBERED_KINDS]
        texts = store.items.contents(unnamed) if unnamed else {}

        def shown(n: int, item: Item) -> Item:
            if machine := machines.get(str(item.ref)):
                item = replace(item, machine=machine)
            if item.fields.title or item.kind not in REMEMBERED_KINDS:
                return item
            return replace(item, opening=texts.get(n, "(its text is damaged: ricordo doctor)"))

        is_last = len(rows) < limit and (rows or not offset)
        total = offset + len(rows) if is_last else store.items.count(filters)
        return Listing([shown(n, item) for n, item in rows], total=total, limit=limit, offset=offset)

    def count(self, filters: Filters | None = None, query: str = "") -> int:
        """How many items pass filters; archived and removed items do not count unless they are asked for."""
        filters = _conditions(query, filters)
        return self._context.tiers.store_of(filters).items.count(filters)

    @verb(
        "read",
        "find",
        "Show refs as a tree.",
        examples=("ricordo tree", "ricordo tree disk:/home/me/notes --depth 2"),
    )
    def tree(
        self,
        prefix: Annotated[str, Say("Only below this ref.", longest=REF_TEXT, shown="REF", example="disk:/notes")]
        | None = None,
        *,
        depth: Annotated[int, Say("How many levels to show.", 1, most=20, shown="N")] | None = None,
    ) -> TreeNode:
        """Refs as folders, from all drives or below one ref."""
        if prefix is not None and prefix.startswith("disk:/"):
            prefix = str(self._context.resolve(prefix))
        return tree_of(self._context.store, prefix, depth)

    @verb("read", "find", "List the versions of an item.", examples=("ricordo history notes/keys.md",))
    @follows("ref")
    def history(self, ref: ItemName) -> Versions:
        """The newest comes first, and the current one is marked with a star. Of a file whose repository was added with
        its history, the commits that changed it stand among its versions.
        """
        n = self._context.number(ref)
        store = self._context.store
        versions = store.items.history(n)
        item = store.items.get_many([n])[n]
        if apart := _apart(store, item.id):
            versions = [replace(version, apart=version.number in apart) for version in versions]
        state = versions[0].state
        if further := [version for some in ask("further_versions", store, n, versions[0].ref) for version in some]:
            versions = sorted([*versions, *further], key=lambda version: version.created_at, reverse=True)
        return Versions(versions, ref=str(ref), state=state, **replacement(store, n, item))

    @verb(
        "read",
        "find",
        "Show what changed between two versions.",
        answers="diff",
        examples=("ricordo diff notes/keys.md", "ricordo diff notes/keys.md 1 3"),
    )
    @follows("ref")
    def diff(
        self,
        ref: ItemName,
        old: Annotated[int, Say("The older version.", 1, most=MOST_VERSIONS)] | None = None,
        new: Annotated[int, Say("The newer version.", 1, most=MOST_VERSIONS)] | None = None,
    ) -> str:
        """A unified diff; by default of the last change."""
        from difflib import unified_diff

        check_number("old", old, 1, optional=True)
        check_number("new", new, 1, optional=True)
        n = self._context.number(ref)
        numbers = [version.number for version in self._context.store.items.history(n)]
        new = numbers[0] if new is None else new
        earlier = [number for number in numbers if number < new]
        old = (earlier[0] if earlier else new) if old is None else old
        before, after = self._context.store.items.get(n, version=old), self._context.store.items.get(n, version=new)
        return "".join(
            unified_diff(
                lines_for_diff(before),
                lines_for_diff(after),
                f"{before.ref}@{old}",
                f"{after.ref}@{new}",
                before.provenance.short,
                after.provenance.short,
            )
        )


def _conditions(query: str, filters: Filters | None) -> Filters:
    """What the items of a list must fulfil."""
    filters = check_filters(filters or Filters())
    if not query:
        return filters
    parsed = parse_query(query)
    if parsed.asks_for_text() or parsed.excluded or parsed.excluded_phrases:
        problem = f": {parsed.notes[0]}" if parsed.notes else ""
        raise UsageError(f"a list takes filters and no words{problem}", hint="‹:search› finds items by words.")
    return both(filters, parsed.filters)


def _some_lines(item: Item, lines: tuple[int, int]) -> Item:
    """The item with only these lines of its original; lines of front matter count, although the content leaves them
    out.
    """
    first, last = lines
    if not 1 <= first <= last:
        raise UsageError(
            f"there are no lines {first}-{last}", hint="Lines count from 1, and the first is not after the last."
        )
    texts = item.content.splitlines(keepends=True)
    end = item.first_line + len(texts) - 1
    if first > end or last < item.first_line:
        raise NotFound(
            f"{item.ref} has no line {first if first > end else last}",
            hint=f"Its text has the lines {item.first_line}-{end}." if texts else "It has no text.",
        )
    wanted = texts[max(first - item.first_line, 0) : last - item.first_line + 1]
    return replace(item, content="".join(wanted), first_line=max(first, item.first_line))


def lines_for_diff(item: Item) -> list[str]:
    """Fields that are set, then the content, so that a title edit shows up too."""
    plain = item.fields.to_dict()
    head = [f"{name}: {plain[name]}\n" for name in plain if plain[name] not in (None, "", [], {}, False)]
    head.insert(0, f"ref: {item.ref}\n")
    body = [line if line.endswith("\n") else f"{line}\n" for line in item.content.splitlines(keepends=True)]
    return [*head, "\n", *body]


def _passages(store: Store, n: int, version: int) -> tuple[Evidence, ...]:
    """The passages of an item with their lines and headings."""
    from ricordo.ingest.cut.chunk import line_ranges

    draft = store.items.draft(n, version)
    lines = line_ranges(draft.content, draft.passages, draft.first_line)
    return tuple(
        Evidence(at, lines[at], draft.content[passage.start : passage.end], passage.heading)
        for at, passage in enumerate(draft.passages)
    )


def _apart(store: Store, item: str) -> tuple[int, ...]:
    """The versions of an item that were written on two machines at the same time."""
    return tuple(number for numbers in ask("versions_apart", store, item) for number in numbers)


def _version_at(store: Store, n: int, name: str, when: datetime) -> int:
    """The version of an item that was current at a moment; an error says why there is none."""
    version = store.items.version_at(n, when)
    if version is not None:
        return version
    if store.items.get_many([n])[n].created_at <= when:
        raise NotFound(
            f"of {name}, no version of {when.isoformat()} is kept any more",
            hint="Its history shows those that are; store.keep_versions says how many are kept.",
        )
    raise NotFound(f"{name} did not exist at {when.isoformat()}", hint="See its history for since when.")
