"""The public verbs of ``Ricordo`` that find, show, check and copy; each calls the class that does the work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ricordo.engine.opening import OpenEngine

if TYPE_CHECKING:
    from ricordo.values.choices import Backend, Mode, StatsBy
    from ricordo.values.context import ContextReport, Skill
    from ricordo.values.hits import Answer, Evidence, Explanation, Filters, GrepMatch
    from ricordo.values.items import Item, Ref, TreeNode, Version
    from ricordo.values.links import LinkReport
    from ricordo.values.sessions import Routes, Session, Timeline
    from ricordo.values.use import Retrieval, StatsReport


class ReadingVerbs(OpenEngine):
    """What callers can ask of a store; items are not changed, only their use is recorded."""

    def search(
        self,
        query: str,
        *,
        limit: int | None = None,
        offset: int = 0,
        mode: Mode = "scan",
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
        backend: Backend | None = None,
        boost_tags: Sequence[str] = (),
        boost_domain: str | None = None,
        diverse: bool = False,
        rerank: str | None = None,
        memories: bool = False,
        opens: bool = False,
        tool: str = "search",
    ) -> Answer:
        """Ranked items for a query. The answer is iterable: ``for hit in memory.search("rotate keys"): ...``

        ``query``: plain words, and the operators of the query language (``"a phrase"``, ``-word``, ``kind:note``).
        ``limit``, ``offset``: how many hits (``search.limit``), and how many to skip before them.
        ``mode``: ``full`` also returns the whole items, and why each hit ranks where it does.
        ``filters``: conditions on items, applied before ranking; they add to those in the query.
        ``min_score``: leave out hits below this score, from 0 to 1.
        ``lexical``, ``vectors``: whether to search by words, and by meaning.
        ``profile``, ``weights``: a named way to rank, and other weights for some of its signals.
        ``as_of``: search the versions that were current then (a time, or a text such as ``2026-01-31``).
        ``explain``: say of each hit what every signal and word added.
        ``track``: record what was found (``search.track``); use counts in some profiles.
        ``literal``: take the query as plain words, without operators.
        ``backend``: ``hybrid``, ``lexical`` (also called ``fts5``) or ``grep``, for this search.
        ``boost_tags``, ``boost_domain``: rank items with these tags, or of this domain, higher.
        ``diverse``: prefer hits that differ from one another.
        ``rerank``: rank the best hits again with ``cross-encoder`` or ``llm``.
        ``memories``: also search memories and sessions, in profiles that give them a fixed score (``vault``).
        ``opens``: count being found as being opened.
        ``tool``: the name under which the query is logged.
        """
        return self._finding.search(
            query, limit=limit, offset=offset, mode=mode, filters=filters, min_score=min_score, lexical=lexical,
            vectors=vectors, profile=profile, weights=weights, as_of=as_of, explain=explain, track=track,
            literal=literal, backend=backend, boost_tags=boost_tags, boost_domain=boost_domain, diverse=diverse,
            rerank=rerank, memories=memories, opens=opens, tool=tool,
        )  # fmt: skip

    def with_replacements(self, answer: Answer) -> Answer:
        """An answer about the past (``as_of``) whose hits say what corrected or superseded them since.

        It looks up every hit, so that ``search`` itself does not do it.
        """
        return self._finding.with_replacements(answer)

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
        """Why an item is where it is in the answer to a query, or why it is not there."""
        return self._finding.explain(
            query, ref, profile=profile, boost_tags=boost_tags, boost_domain=boost_domain, **options
        )

    def semantic(self, query: str, **options: Any) -> Answer:
        """Ranked items by meaning alone."""
        return self._finding.semantic(query, **options)

    def similar(
        self, ref: str | Ref, *, limit: int = 10, filters: Filters | None = None, track: bool | None = None
    ) -> Answer:
        """The items whose passages are nearest in meaning to those of one item."""
        return self._finding.similar(ref, limit=limit, filters=filters, track=track)

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
        """Lines of stored texts that match a regular expression, newest items first."""
        return self._finding.grep(
            pattern, context=context, globs=globs, drives=drives, ignore_case=ignore_case, fixed=fixed, limit=limit
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
        """An item with its content: now, in one version, or as it was at a time. This counts as opening it.

        ``lines`` gives the first and the last line to return, counted as hits count them; the content holds only
        these then, and ``first_line`` says where they begin.
        """
        return self._finding.get(ref, version=version, as_of=as_of, lines=lines, track=track)

    def place_of(self, ref: str | Ref) -> str:
        """Where an item can be opened: the path of its file or Markdown file, or the URL of its page."""
        return self._finding.place_of(ref)

    def original(self, ref: str | Ref, *, version: int | None = None) -> bytes:
        """The bytes of an item that is kept without text; for any other, its text in UTF-8."""
        return self._finding.original(ref, version=version)

    def passages(self, ref: str | Ref, *, version: int | None = None) -> tuple[Evidence, ...]:
        """The passages that an item is cut into, with their lines and headings; they are what search compares."""
        return self._finding.passages(ref, version=version)

    def list(self, *, filters: Filters | None = None, limit: int = 50, offset: int = 0) -> list[Item]:
        """Items without their content, newest first."""
        return self._finding.list(filters=filters, limit=limit, offset=offset)

    def count(self, filters: Filters | None = None) -> int:
        """How many items pass the filters."""
        return self._finding.count(filters)

    def tree(self, prefix: str | None = None, *, depth: int | None = None) -> TreeNode:
        """Refs as folders, from all drives or below one ref."""
        return self._finding.tree(prefix, depth=depth)

    def history(self, ref: str | Ref) -> Sequence[Version]:
        """An item's versions, the newest first."""
        return self._finding.history(ref)

    def diff(self, ref: str | Ref, old: int | None = None, new: int | None = None) -> str:
        """What changed between two versions, as a unified diff; by default the last change."""
        return self._finding.diff(ref, old, new)

    def links(self, ref: str | Ref, *, depth: int = 2) -> LinkReport:
        """The links around an item, both ways, by hand and from texts."""
        return self._links.links(ref, depth=depth)

    def suggest_links(self, ref: str | Ref, *, limit: int = 10) -> Answer:
        """Items that are like one but not linked with it: by meaning or, without vectors, by the words of its title."""
        return self._links.suggest_links(ref, limit=limit)

    def stats(self, *, days: float = 30, by: StatsBy = "query", limit: int = 10) -> StatsReport:
        """What was asked and found in the last days, by query, tool or day."""
        return self._use.stats(days=days, by=by, limit=limit)

    def retrievals(
        self, *, ref: str | Ref | None = None, query: str | None = None, limit: int = 50
    ) -> tuple[Retrieval, ...]:
        """The retrieval log of one item (which queries showed it, when it was opened) or of one query, latest first."""
        return self._use.retrievals(ref=ref, query=query, limit=limit)

    def sessions(self, *, limit: int = 50, offset: int = 0) -> tuple[Session, ...]:
        """The sessions that are kept, the latest first, without their turns."""
        return self._sessions.sessions(limit=limit, offset=offset)

    def session(self, name: str, *, first: int = 1, limit: int = 1_000) -> Session:
        """A session with its turns from one on; the beginning of its id is enough if only one begins so."""
        return self._sessions.session(name, first=first, limit=limit)

    def timeline(
        self,
        *,
        since: str | datetime | None = None,
        thread: str | None = None,
        kinds: Sequence[str] = (),
        limit: int = 50,
    ) -> Timeline:
        """What happened since a time or for a span (``7d``), in order: said, made, changed, remembered, put away.

        The use of tools is listed only for a ``thread``.
        """
        return self._sessions.timeline(since=since, thread=thread, kinds=kinds, limit=limit)

    def recent(
        self,
        limit: int = 20,
        *,
        since: str | datetime | None = None,
        thread: str | None = None,
        kinds: Sequence[str] = (),
    ) -> Timeline:
        """The latest happenings, the newest first."""
        return self._sessions.recent(limit, since=since, thread=thread, kinds=kinds)

    def route(self, task: str, limit: int = 5) -> Routes:
        """Points in sessions to fork from for a task, by words and meaning, weighed by how it went on from there."""
        return self._sessions.route(task, limit)

    def context(
        self,
        task: str,
        *,
        budget: int = 2000,
        recent: bool = False,
        skills: bool = True,
        always: bool = True,
        session: str = "",
    ) -> ContextReport:
        """What an agent should know for a task, in at most ``budget`` tokens of the shipped tokenizer.

        The same store and the same task give the same text; nothing is remembered of the call. Without ``always``,
        items that every agent gets are left out, for an agent that has them already. ``session`` is the id of the
        session that asks; what was said in it is left out, because it knows that already.
        """
        return self._agents.context(task, budget=budget, recent=recent, skills=skills, always=always, session=session)

    def skills(self) -> tuple[Skill, ...]:
        """All skills, by name; of a name that several tiers hold, the highest tier's."""
        return self._agents.skills()

    def skills_search(
        self,
        task: str,
        limit: int = 5,
        *,
        min_score: float | None = None,
        profile: str | None = None,
        track: bool | None = None,
    ) -> tuple[Skill, ...]:
        """The skills that fit a task best, judged by name, description and text."""
        return self._agents.skills_search(task, limit, min_score=min_score, profile=profile, track=track)

    def skill(self, name: str) -> Item:
        """A skill by its name or ref, with its text; this counts as opening it."""
        return self._agents.skill(name)
