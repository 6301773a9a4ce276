"""Verbs about what agents did and when: sessions, timeline, recent, route."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo import registry
from ricordo.engine.context import EngineContext
from ricordo.engine.finding import FindVerbs
from ricordo.engine.successors import replacement
from ricordo.errors import Error, NotFound, Unavailable, Unreadable, UsageError
from ricordo.values.hits import Filters
from ricordo.values.items import Item, Ref, Saved
from ricordo.values.kinds import CHECKPOINT, REMEMBERED_KINDS, SESSION
from ricordo.values.reports import AddReport, Progress

if TYPE_CHECKING:
    from ricordo.context.sessions import SessionTaker
    from ricordo.models.base import LLM
    from ricordo.values.sessions import Happening, Routes, Session, Timeline

MOST_SESSIONS = 1_000


class SessionVerbs:
    """Takes in transcripts of agents, and says what happened and where to go on from."""

    def __init__(self, context: EngineContext, finding: FindVerbs) -> None:
        self._context = context
        self._finding = finding

    def sessions_add(
        self,
        *paths: str | Path,
        wait: bool = True,
        allow_secrets: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> AddReport:
        from ricordo.context.sessions import SessionTaker
        from ricordo.sources.sessions.reading import find_transcripts, known_places

        taker = SessionTaker(
            self._context.unsynced_store,  # hooks call this with little time, and it reads no knowledge files
            self._context.pipeline,
            backlog=self._context.models.backlog(),
            allow_secrets=allow_secrets,
            llm=self._facet_model() if wait else None,
        )
        named = [Path(path).expanduser() for path in paths]
        places = named or [place for place in known_places() if place.exists()]
        files = list(dict.fromkeys(file for place in places for file in find_transcripts(place)))
        answers: list[Saved] = []
        for number, file in enumerate(files, start=1):
            answers += self._take_transcript(taker, file, is_named=file in named, with_helpers=bool(named))
            if progress is not None:
                progress(Progress(number, len(files), file.name, "sessions"))
        if not files and not named:
            where = ", ".join(map(str, known_places()))
            taker.notes.append(f"there are no transcripts in {where}; name a file or folder")
        if taker.judge.unread:
            taker.notes.append(
                f"{taker.judge.unread:,} messages are in a language in which corrections and praise are not recognised;"
                " with a language model they are (llm.provider)"
            )
        return self._context.embed_after(AddReport(tuple(answers), tuple(taker.notes)), wait, progress)

    def _take_transcript(self, taker: SessionTaker, file: Path, *, is_named: bool, with_helpers: bool) -> list[Saved]:
        """Take in one file; in a folder, a file that is not a transcript is skipped."""
        from ricordo.sources.sessions.reading import open_transcripts

        answers: list[Saved] = []
        try:
            for transcript in open_transcripts(file):
                if transcript.is_helpers and not with_helpers:
                    continue
                answers += taker.take(transcript)
                taker.notes.extend(transcript.counts.notes(file.name))
            return answers
        except Unreadable as error:
            name = str(registry.disk_ref(file))
            if not is_named:
                return [*answers, Saved(name, "skipped", reason=error.message)]
            return [*answers, Saved(name, "failed", error=error.to_dict())]
        except Error as error:
            return [*answers, Saved(str(registry.disk_ref(file)), "failed", error=error.to_dict())]
        except OSError as error:
            problem = Unreadable(f"{file} cannot be read: {error.strerror or error}", hint="Check its permissions.")
            return [*answers, Saved(str(registry.disk_ref(file)), "failed", error=problem.to_dict())]

    def _facet_model(self) -> LLM | None:
        """The language model that says what a session was about, if one is set."""
        config = self._context.config
        if config.llm.provider == "none":
            return None
        try:
            return self._context.models.llm()
        except Unavailable:
            return None

    def sessions(self, *, limit: int = 50, offset: int = 0) -> tuple[Session, ...]:
        from ricordo.context.session_list import session_of

        filters = Filters(kinds=(SESSION,), categories=(SESSION,))
        items = [item for _, item in self._context.store.items.listing(filters, MOST_SESSIONS, 0)]
        spans = self._context.store.threads.spans([item.fields.thread or "" for item in items])
        found = [session_of(item, spans[item.fields.thread or ""]) for item in items]
        found.sort(key=lambda session: (session.ended.timestamp() if session.ended else 0.0, session.id), reverse=True)
        return tuple(found[offset : offset + limit])

    def session(self, name: str, *, first: int = 1, limit: int = 1_000) -> Session:
        from ricordo.context.session_list import session_of, turn_of

        item = self._session_item(name)
        thread = item.fields.thread or item.ref.path[1:]
        turns = [turn_of(one) for one in self._context.store.threads.items(thread, first, first + limit - 1)]
        return session_of(item, self._context.store.threads.spans([thread])[thread], tuple(turns))

    def _session_item(self, name: str) -> Item:
        wanted = Ref.parse(name).path[1:] if Ref.looks_like(name) else name.strip()
        wanted = wanted.partition("/")[0]
        if not wanted:
            raise UsageError("a session has a name", hint="'ricordo sessions list' shows them.")
        n = self._context.store.items.number(Ref(SESSION, f"/{wanted}"))
        if n is not None:
            item = self._context.store.items.get_many([n])[n]
            if item.state == "live":
                return item
        begin = [session for session in self.sessions(limit=MOST_SESSIONS) if session.id.startswith(wanted)]
        if len(begin) > 1:
            raise UsageError(
                f"{len(begin)} sessions begin with {wanted}", hint=f"Say more of it, for example {begin[0].id}."
            )
        if not begin:
            raise NotFound(f"there is no session {wanted}", hint="'ricordo sessions list' shows what is there.")
        n = self._context.store.items.require(Ref.parse(begin[0].ref))
        return self._context.store.items.get_many([n])[n]

    def timeline(
        self,
        *,
        since: str | datetime | None = None,
        thread: str | None = None,
        kinds: Sequence[str] = (),
        limit: int = 50,
    ) -> Timeline:
        from ricordo.context.timeline import timeline_of

        found = timeline_of(
            self._context.store, since=since, thread=thread, kinds=kinds, limit=limit, newest_first=False
        )
        return self._with_replacements(found)

    def _with_replacements(self, found: Timeline) -> Timeline:
        """The timeline, with the items that replaced those that are archived by now."""
        store = self._context.store

        def with_replacement(event: Happening) -> Happening:
            n = store.items.number(Ref.parse(event.ref)) if event.kind in REMEMBERED_KINDS else None
            return replace(event, **replacement(store, n)) if n is not None else event

        return replace(found, events=tuple(map(with_replacement, found.events)))

    def recent(
        self,
        limit: int = 20,
        *,
        since: str | datetime | None = None,
        thread: str | None = None,
        kinds: Sequence[str] = (),
    ) -> Timeline:
        from ricordo.context.timeline import timeline_of

        found = timeline_of(
            self._context.store, since=since, thread=thread, kinds=kinds, limit=limit, newest_first=True
        )
        return self._with_replacements(found)

    def route(self, task: str, limit: int = 5) -> Routes:
        from ricordo.context.routing import routes_from
        from ricordo.search.pipeline import NOTHING_FITS

        if limit < 1:
            raise UsageError("the limit is at least 1")
        answer = self._finding.search(
            task,
            limit=4 * limit,
            mode="full",
            filters=Filters(kinds=(SESSION,), categories=(CHECKPOINT,)),
            literal=True,
            track=False,
            tool="route",
        )
        stores = {tier.name: tier.store for tier in self._context.tiers.federation.tiers if tier.is_open}
        routes = routes_from(task, answer, stores, limit)
        if routes.forks:
            return routes
        return replace(routes, notes=tuple(note for note in routes.notes if note != NOTHING_FITS))
