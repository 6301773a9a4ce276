"""Verbs that look: search, explain, grep, get, list, tree, history, diff, semantic, similar."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from ricordo import registry
from ricordo.engine.checks import check_type, refuse_binned
from ricordo.engine.context import EngineContext
from ricordo.engine.successors import replacement
from ricordo.errors import NotFound, Unavailable, UsageError
from ricordo.search.profile import find_profile
from ricordo.search.request import Boosts, Request
from ricordo.search.scan import grep_texts, tree_of
from ricordo.values.hits import Answer, Evidence, Explanation, Filters, GrepMatch, Hit
from ricordo.values.items import Item, Ref, TreeNode, Version, parse_time
from ricordo.values.kinds import REMEMBERED_KINDS

DEFAULT_PROFILE = "default"


class FindVerbs:
    """Finds and shows items; it changes nothing but the records of use."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context

    def search(
        self,
        query: str,
        *,
        limit: int | None = None,
        offset: int = 0,
        mode: str = "scan",
        filters: Filters | None = None,
        min_score: float | None = None,
        lexical: bool = True,
        vectors: bool = True,
        profile: str | None = None,
        weights: Mapping[str, float] | None = None,
        as_of: datetime | str | None = None,
        explain: bool = False,
        track: bool | None = None,
        literal: bool = False,
        backend: str | None = None,
        boost_tags: Sequence[str] = (),
        boost_domain: str | None = None,
        diverse: bool = False,
        rerank: str | None = None,
        memories: bool = False,
        opens: bool = False,
        tool: str = "search",
        snippets: bool = True,
        respell: bool = True,
    ) -> Answer:
        check_type("query", query, str)
        for name, value, wanted in (
            ("limit", limit, int), ("min_score", min_score, float), ("filters", filters, Filters),
            ("weights", weights, Mapping), ("profile", profile, str), ("backend", backend, str),
        ):  # fmt: skip
            check_type(name, value, wanted, optional=True)
        check_type("offset", offset, int)
        settings = self._context.config.search
        request = Request(
            query,
            limit=settings.limit if limit is None else limit,
            offset=offset,
            mode=mode,
            filters=filters or Filters(),
            min_score=settings.min_score if min_score is None else min_score,
            lexical=lexical,
            vectors=vectors,
            profile=profile or self._usual_profile(),
            weights=weights or {},
            as_of=parse_time(as_of) if isinstance(as_of, str) else as_of,
            explain=explain or mode == "full",
            literal=literal,
            backend=backend or settings.backend,
            boosts=Boosts(tuple(boost_tags), boost_domain),
            diverse=diverse,
            rerank=rerank,
            memories=memories,
            snippets=snippets,
            respell=respell,
        )
        return self._tracked(self._context.tiers.federation.search(request), query, tool, track, opens=opens)

    def with_replacements(self, answer: Answer) -> Answer:
        tiers = {tier.name: tier for tier in self._context.tiers.federation.tiers}

        def with_replacement(hit: Hit) -> Hit:
            store = tiers[hit.tier].store if hit.tier in tiers else self._context.store
            n = store.items.number(Ref.parse(hit.ref))
            return replace(hit, **replacement(store, n)) if n is not None else hit

        return replace(answer, hits=tuple(map(with_replacement, answer.hits)))

    def _usual_profile(self) -> str:
        """The profile of the settings; the default one if that cannot be used, so that searches go on."""
        return DEFAULT_PROFILE if self._profile_problem() else self._context.config.search.profile

    def _profile_problem(self) -> tuple[str, ...]:
        config = self._context.config
        try:
            find_profile(config, config.search.profile)
        except UsageError as error:
            return (f"profile: the setting search.profile cannot be used ({error.message}); default is",)
        return ()

    def _tracked(self, answer: Answer, text: str, tool: str, track: bool | None, *, opens: bool = False) -> Answer:
        """Record what an answer held, if ``track`` or the setting says so; returns the answer.

        If edits of knowledge files could not be taken in before, the answer says so.
        """
        unseen = self._context.unseen_edits()
        if answer.meta.profile == DEFAULT_PROFILE != self._context.config.search.profile:
            unseen += self._profile_problem()
        if unseen:
            answer = replace(answer, meta=replace(answer.meta, degraded=(*answer.meta.degraded, *unseen)))
        config = self._context.config
        if config.search.track if track is None else track:
            opened = opens or find_profile(config, answer.meta.profile).counts_as_opening
            tracker = self._context.tracker
            if tracker is not None:
                tracker.searched(answer, text=text, tool=tool, settings=config.usage, opened=opened)
            self._context.tiers.record_use_elsewhere(answer, text=text, tool=tool, opened=opened)
        return answer

    def explain(
        self,
        query: str,
        ref: str | Ref,
        *,
        profile: str | None = None,
        boost_tags: Sequence[str] = (),
        boost_domain: str | None = None,
        **options: Any,
    ) -> Explanation:
        from ricordo.search.reasons import explain_item

        tier, n = self._context.tiers.holder(ref)
        settings = self._context.config.search
        limit = options.pop("limit", None) or settings.limit
        boosts = Boosts(tuple(boost_tags), boost_domain)
        request = Request(query, limit=limit, profile=profile or self._usual_profile(), boosts=boosts, **options)
        return explain_item(self._context.tiers.federation.search, tier.searcher, request, n, tier=tier.name)

    def grep(
        self,
        pattern: str,
        *,
        context: int = 0,
        globs: Sequence[str] = (),
        drives: Sequence[str] = (),
        ignore_case: bool = False,
        fixed: bool = False,
        limit: int = 100,
    ) -> list[GrepMatch]:
        filters = Filters(drives=tuple(drives), paths=tuple(globs))
        return grep_texts(
            self._context.store,
            pattern,
            filters,
            context=context,
            ignore_case=ignore_case,
            fixed=fixed,
            limit=limit,
            seconds=self._context.config.search.pattern_seconds,
        )

    def get(
        self,
        ref: str | Ref,
        *,
        version: int | None = None,
        as_of: datetime | str | None = None,
        lines: tuple[int, int] | None = None,
        track: bool | None = None,
    ) -> Item:
        tier, n = self._context.tiers.holder(ref)
        if as_of is not None:
            when = parse_time(as_of) if isinstance(as_of, str) else as_of
            version = tier.store.items.version_at(n, when)
            if version is None:
                raise NotFound(f"{ref} did not exist at {when.isoformat()}", hint="See its history for since when.")
        replaced = replacement(tier.store, n)
        item = replace(tier.store.items.get(n, version=version), tier=tier.name, **replaced)
        if version is None:
            refuse_binned(item)
        config = self._context.config
        tracker = self._context.tiers.tracker_of(tier)
        if tracker is not None and (config.search.track if track is None else track):
            tracker.opened(item, settings=config.usage)
        return item if lines is None else _some_lines(item, lines)

    def place_of(self, ref: str | Ref) -> str:
        tier, n = self._context.tiers.holder(ref)
        item = tier.store.items.get_many([n])[n]
        if item.ref.drive == "disk":
            return item.ref.path
        path = self._context.knowledge_file(tier.store, n)
        if path is not None:
            return str(path)
        url = item.fields.source_url or item.ref.path.lstrip("/")
        if url.startswith(("https://", "http://")):
            return url
        raise UsageError(
            f"{item.ref} is neither a file nor a page", hint=f"'ricordo edit {item.ref}' opens its text in your editor."
        )

    def original(self, ref: str | Ref, *, version: int | None = None) -> bytes:
        tier, n = self._context.tiers.holder(ref)
        item = tier.store.items.get(n, version=version)
        if version is None:
            refuse_binned(item)
        blob = tier.store.items.draft(n, item.version).blob
        if blob is None and not item.fields.is_textual:
            if (data := registry.same_bytes(item)) is not None:
                return data
            raise Unavailable(
                f"the bytes of {item.ref} are not kept in the store",
                hint="Its file is gone or changed. With ingest.keep_binaries, bytes are kept when a file is added.",
            )
        return blob if blob is not None else item.content.encode("utf-8", "surrogatepass")

    def passages(self, ref: str | Ref, *, version: int | None = None) -> tuple[Evidence, ...]:
        from ricordo.ingest.chunk import line_ranges

        tier, n = self._context.tiers.holder(ref)
        item = tier.store.items.get(n, version=version)
        draft = tier.store.items.draft(n, item.version)
        lines = line_ranges(draft.content, draft.passages, draft.first_line)
        return tuple(
            Evidence(at, lines[at], draft.content[one.start : one.end], one.heading)
            for at, one in enumerate(draft.passages)
        )

    def list(self, *, filters: Filters | None = None, limit: int = 50, offset: int = 0) -> list[Item]:
        items = self._context.store.items

        def titled(n: int, item: Item) -> Item:
            is_named = item.fields.title or item.kind not in REMEMBERED_KINDS
            return item if is_named else replace(item, opening=items.get(n).content)

        return [titled(n, item) for n, item in items.listing(filters or Filters(), limit, offset)]

    def count(self, filters: Filters | None = None) -> int:
        return self._context.store.items.count(filters or Filters())

    def tree(self, prefix: str | None = None, *, depth: int | None = None) -> TreeNode:
        return tree_of(self._context.store, prefix, depth)

    def history(self, ref: str | Ref) -> Sequence[Version]:
        return self._context.store.items.history(self._context.number(ref))

    def diff(self, ref: str | Ref, old: int | None = None, new: int | None = None) -> str:
        n = self._context.number(ref)
        numbers = [version.number for version in self._context.store.items.history(n)]
        new = numbers[0] if new is None else new
        earlier = [number for number in numbers if number < new]
        old = (earlier[0] if earlier else new) if old is None else old
        before, after = self._context.store.items.get(n, version=old), self._context.store.items.get(n, version=new)
        return "".join(
            difflib.unified_diff(
                _lines_for_diff(before), _lines_for_diff(after), f"{before.ref}@{old}", f"{after.ref}@{new}"
            )
        )

    def semantic(self, query: str, **options: Any) -> Answer:
        return self.search(query, profile="vector", literal=True, **{"tool": "semantic", **options})

    def similar(
        self, ref: str | Ref, *, limit: int = 10, filters: Filters | None = None, track: bool | None = None
    ) -> Answer:
        tier, n = self._context.tiers.holder(ref)
        answer = tier.searcher.similar(n, limit=limit, filters=filters or Filters(), tier=tier.name)
        return self._tracked(answer, str(tier.store.items.get_many([n])[n].ref), "similar", track)


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
            hint=f"Its text has the lines {item.first_line}-{end}.",
        )
    kept = texts[max(first - item.first_line, 0) : last - item.first_line + 1]
    return replace(item, content="".join(kept), first_line=max(first, item.first_line))


def _lines_for_diff(item: Item) -> list[str]:
    """Fields that are set, then the content, so that a title edit shows up too."""
    plain = item.fields.to_dict()
    head = [f"{name}: {plain[name]}\n" for name in plain if plain[name] not in (None, "", [], {}, False)]
    head.insert(0, f"ref: {item.ref}\n")
    body = [line if line.endswith("\n") else f"{line}\n" for line in item.content.splitlines(keepends=True)]
    return [*head, "\n", *body]
