"""Verbs that rank: search, explain, similar."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Unpack, get_args

from ricordo.engine.checks import check_choice, check_filters, check_number, check_type, texts
from ricordo.engine.context import OpenEngine
from ricordo.errors import UsageError
from ricordo.plugin import revise
from ricordo.search.profiles import find_profile
from ricordo.search.request import Boosts, Request
from ricordo.secrets.private import without_private
from ricordo.values.hits import Answer, Explanation, Filters
from ricordo.values.kinds import By
from ricordo.values.times import moment_of
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.values.hits import SearchDetails
    from ricordo.values.kinds import Mode
    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import (
        AsOf,
        BoostDomain,
        BoostTags,
        Diverse,
        ItemName,
        Limit,
        MinScore,
        Offset,
        ProfileName,
        QueryText,
        Rerank,
        SearchBy,
        SessionsWithRest,
        Track,
        Weights,
        WithMemories,
    )

DEFAULT_PROFILE = "default"
BY_BACKEND: Mapping[str, By] = {"hybrid": "both", "lexical": "words", "grep": "text"}
"""What the setting ``search.backend`` means for a search that does not say by what."""


class FindVerbs(OpenEngine):
    """Finds and shows items; it changes nothing but the records of use."""

    @verb(
        "read",
        "find",
        "Find items by their words and their meaning.",
        examples=(
            "ricordo search how do I rotate the keys",
            "ricordo search '\"exact phrase\" -draft tag:ops' --kind note --limit 5",
            "ricordo search login --explain",
            "ricordo search login --files",
            "echo 'a long question' | ricordo search -",
        ),
        needs_model=True,
    )
    def search(
        self,
        query: QueryText,
        *,
        limit: Limit | None = None,
        offset: Offset = 0,
        mode: Annotated[Mode, Say("full also returns the whole items, and why each ranks where it does.")] = "scan",
        filters: Filters | None = None,
        min_score: MinScore | None = None,
        by: SearchBy | None = None,
        profile: ProfileName | None = None,
        weights: Weights | None = None,
        as_of: AsOf | None = None,
        explain: Annotated[bool, Say("Show why: each signal, each word, the steps to the score.")] = False,
        track: Track | None = None,
        boost_tags: BoostTags = (),
        boost_domain: BoostDomain | None = None,
        diverse: Diverse = False,
        rerank: Rerank | None = None,
        memories: WithMemories = False,
        sessions: SessionsWithRest = False,
        **details: Unpack[SearchDetails],
    ) -> Answer:
        """In a query, "a phrase" must occur as it is, -word excludes items with the word, and word* matches words that
        begin so. Filters are kind: tag: drive: path: domain: severity: category: importance: tier: after: before:
        thread: author: facet: state:. With filters and no words, it lists what passes them, newest first. Sources that
        fit come before sessions, unless the question is about what was done; each session is one hit.
        """
        check_type("query", query, str)
        query = without_private(query)
        _check_numbers(limit, offset, min_score)
        check_type("filters", filters, Filters, optional=True)
        check_type("weights", weights, Mapping, optional=True)
        check_type("profile", profile, str, optional=True)
        tool, opens, shown = details.pop("tool", "search"), details.pop("opens", False), details.pop("shown", None)
        with self._context.provider.resolved_once() as config:
            self._context.program_notes.take_in()
            request = self._request(
                query, by=by, profile=profile, as_of=as_of,
                boosts=Boosts(texts("boost_tags", boost_tags), boost_domain),
                limit=config.search.limit if limit is None else limit, offset=offset, mode=mode,
                filters=check_filters(filters or Filters()),
                min_score=min_score or 0.0,
                weights=weights or {}, explain=explain or mode == "full",
                diverse=diverse, rerank=rerank, memories=memories, sessions=sessions, **details,
            )  # fmt: skip
            answer = self._context.tiers.federation.search(request)
            if shown is not None:
                answer = replace(answer, hits=tuple(shown(answer.hits)))
            return self._tracked(answer, query, tool, track, opens=opens)

    def _request(
        self,
        query: str,
        *,
        by: By | None,
        profile: str | None,
        as_of: datetime | str | None,
        **same: Any,
    ) -> Request:
        """What is asked of the tiers; ``same`` holds the fields that are called so in a request, too."""
        by = by or BY_BACKEND[self._context.config.search.backend]
        check_choice("by", by, get_args(By))
        same["literal"] = same.get("literal", False) or by == "meaning"
        return Request(
            query,
            by=by,
            profile=profile or ("vector" if by == "meaning" else self._usual_profile()),
            as_of=moment_of(as_of) if as_of is not None else None,
            **same,
        )

    def _usual_profile(self) -> str:
        """The profile of the settings; the default one if that cannot be used, so that searches go on."""
        return DEFAULT_PROFILE if self._profile_problem() else self._context.config.search.profile

    def _profile_problem(self) -> tuple[str, ...]:
        config = self._context.config
        if config.search.profile == DEFAULT_PROFILE and not config.profiles:
            return ()
        try:
            find_profile(config, config.search.profile)
        except UsageError as error:
            return (f"profile: the setting search.profile cannot be used ({error.message}); default is",)
        return ()

    def _tracked(self, answer: Answer, text: str, tool: str, track: bool | None, *, opens: bool = False) -> Answer:
        """Record what an answer held, if ``track`` or the setting says so; returns the answer.

        If edits of knowledge files could not be taken in before, the answer says so; and hits say what became of what
        they cite.
        """
        if any(hit.cited for hit in answer.hits):
            stores = {tier.name: tier.store for tier in self._context.tiers.federation.tiers}
            answer = revise("answer_cites", answer, stores.get)
        unseen = self._context.unseen_edits()
        if answer.meta.profile == DEFAULT_PROFILE != self._context.config.search.profile:
            unseen += self._profile_problem()
        if unseen:
            answer = replace(answer, meta=replace(answer.meta, degraded=(*answer.meta.degraded, *unseen)))
        config = self._context.config
        if track is not False:
            opened = opens or find_profile(config, answer.meta.profile).counts_as_opening
            tracker = self._context.tracker
            if tracker is not None:
                tracker.searched(answer, text=text, tool=tool, settings=config.usage, opened=opened)
            self._context.tiers.record_use_elsewhere(answer, text=text, tool=tool, opened=opened)
        return answer

    @verb(
        "read",
        "find",
        "Show why an item has its rank, or is not found.",
        examples=(
            "ricordo explain how do I rotate the keys notes/keys.md",
            "ricordo explain login memory:/login-bug",
        ),
        needs_model=True,
    )
    def explain(
        self,
        query: QueryText,
        ref: ItemName,
        *,
        limit: Limit | None = None,
        filters: Filters | None = None,
        by: SearchBy | None = None,
        profile: ProfileName | None = None,
        weights: Weights | None = None,
        as_of: AsOf | None = None,
    ) -> Explanation:
        """It takes the filters and weights of a search, so that both answer the same question."""
        tier, n = self._context.tiers.holder(ref)
        settings = self._context.config.search
        request = self._request(
            query, by=by, profile=profile, as_of=as_of, limit=limit or settings.limit,
            filters=check_filters(filters or Filters()), weights=weights or {},
        )  # fmt: skip
        return self._context.tiers.federation.explain(request, tier, n)

    @verb(
        "read",
        "find",
        "Find items like a given one.",
        examples=("ricordo similar notes/keys.md", "ricordo similar memory:/login-bug --unlinked"),
    )
    def similar(
        self,
        ref: ItemName,
        *,
        limit: Limit = 10,
        unlinked: Annotated[bool, Say("Leave out items that are linked with it: links that may be missing.")] = False,
        filters: Filters | None = None,
        track: Track | None = None,
    ) -> Answer:
        """Items are compared by meaning; for ``unlinked``, without vectors, by the words of the title. The item itself
        is not listed.
        """
        tier, n = self._context.tiers.holder(ref)
        filters = check_filters(filters or Filters())
        if filters.tiers and tier.name not in filters.tiers:
            raise UsageError(
                f"{ref} is in the tier {tier.name}, and is compared with the items there", hint="Leave out ‹tier›."
            )
        deep = limit + (len(tier.store.links.neighbours([n], 1)) if unlinked else 0)
        answer = tier.searcher.similar(n, limit=deep, filters=filters, tier=tier.name)
        if unlinked:
            from ricordo.memory.links import without_linked

            if not answer.hits:
                title = tier.store.items.get_many([n])[n].title
                answer = tier.searcher.search(Request(title, limit=deep, by="words", literal=True))
            answer = without_linked(tier.store, n, answer, limit)
        return self._tracked(answer, str(tier.store.items.get_many([n])[n].ref), "similar", track)


def _check_numbers(limit: int | None, offset: int, min_score: float | None) -> None:
    """Refuse numbers that no search can mean."""
    check_number("limit", limit, optional=True)
    check_number("offset", offset)
    check_type("min_score", min_score, float, optional=True)
    if min_score is not None and not 0 <= min_score <= 1:
        raise UsageError(f"min_score cannot be {min_score}", hint="A number from 0 to 1.")
