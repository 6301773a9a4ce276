"""The engine's verbs about what agents did and when: sessions, timeline, recent, route."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo import registry
from ricordo.engine.finding import Finding
from ricordo.engine.taking_in import TakingIn
from ricordo.errors import Error, NotFound, Unavailable, Unreadable, UsageError
from ricordo.values.hits import Filters
from ricordo.values.items import Item, Ref, Saved
from ricordo.values.kinds import CHECKPOINT, SESSION
from ricordo.values.reports import AddReport, Progress

if TYPE_CHECKING:
    from ricordo.context.sessions import SessionTaker
    from ricordo.models.base import LLM
    from ricordo.values.sessions import Routes, Session, Timeline

MOST_SESSIONS = 1_000


class Sessions(TakingIn, Finding):
    """Takes in transcripts of agents, and says what happened and where to go on from."""

    def sessions_add(
        self,
        *paths: str | Path,
        wait: bool = True,
        allow_secrets: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> AddReport:
        """Take in what is new in transcripts: files, folders, or the known places of Claude Code and Codex.

        Each event is taken in once, however often this is called. Without ``wait`` vectors are left to the backlog.
        """
        from ricordo.context.sessions import SessionTaker
        from ricordo.sources.sessions.reading import find_transcripts, is_helpers, known_places

        taker = SessionTaker(
            self.store,
            self._pipeline,
            backlog=self._backlog(),
            allow_secrets=allow_secrets,
            llm=self._facet_model() if wait else None,
        )
        named = [Path(path).expanduser() for path in paths]
        places = named or [place for place in known_places() if place.is_dir()]
        files = list(dict.fromkeys(file for place in places for file in find_transcripts(place)))
        if not named:
            files = [file for file in files if not is_helpers(file)]
        answers: list[Saved] = []
        for number, file in enumerate(files, start=1):
            answers += self._take_transcript(taker, file, is_named=file in named)
            if progress is not None:
                progress(Progress(number, len(files), file.name, "sessions"))
        if not files and not named:
            where = ", ".join(map(str, known_places()))
            taker.notes.append(f"there are no transcripts in {where}; name a file or folder")
        return self._embedded(AddReport(tuple(answers), tuple(taker.notes)), wait, progress)

    def _take_transcript(self, taker: SessionTaker, file: Path, *, is_named: bool) -> list[Saved]:
        """One file; in a folder, one that is no transcript is passed over."""
        from ricordo.sources.sessions.reading import open_transcript

        try:
            transcript = open_transcript(file)
            answers = taker.take(transcript)
            taker.notes.extend(transcript.counts.notes(file.name))
            return answers
        except Unreadable as error:
            name = str(registry.disk_ref(file))
            if not is_named:
                return [Saved(name, "skipped", reason=error.message)]
            return [Saved(name, "failed", error=error.to_dict())]
        except Error as error:
            return [Saved(str(registry.disk_ref(file)), "failed", error=error.to_dict())]
        except OSError as error:
            problem = Unreadable(f"{file} cannot be read: {error.strerror or error}", hint="Check its permissions.")
            return [Saved(str(registry.disk_ref(file)), "failed", error=problem.to_dict())]

    def _facet_model(self) -> LLM | None:
        """The language model that says what a session was about, where one is set."""
        config = self.config
        if config.llm.provider == "none":
            return None
        try:
            return self._llm()
        except Unavailable:
            return None

    def sessions(self, *, limit: int = 50, offset: int = 0) -> tuple[Session, ...]:
        """The sessions that are kept, the latest first, without their turns."""
        from ricordo.context.session_list import session_of

        filters = Filters(kinds=(SESSION,), categories=(SESSION,))
        items = [item for _, item in self.store.items.listing(filters, MOST_SESSIONS, 0)]
        spans = self.store.threads.spans([item.fields.thread or "" for item in items])
        found = [session_of(item, spans[item.fields.thread or ""]) for item in items]
        found.sort(key=lambda session: (session.ended.timestamp() if session.ended else 0.0, session.id), reverse=True)
        return tuple(found[offset : offset + limit])

    def session(self, name: str, *, first: int = 1, limit: int = 1_000) -> Session:
        """A session with its turns from one on; the beginning of its id is enough if only one begins so."""
        from ricordo.context.session_list import session_of, turn_of

        item = self._session_item(name)
        thread = item.fields.thread or item.ref.path[1:]
        turns = [turn_of(one) for one in self.store.threads.items(thread, first, first + limit - 1)]
        return session_of(item, self.store.threads.spans([thread])[thread], tuple(turns))

    def _session_item(self, name: str) -> Item:
        wanted = Ref.parse(name).path[1:] if Ref.looks_like(name) else name.strip()
        wanted = wanted.partition("/")[0]
        if not wanted:
            raise UsageError("a session has a name", hint="'ricordo sessions list' shows them.")
        n = self.store.items.number(Ref(SESSION, f"/{wanted}"))
        if n is not None:
            item = self.store.items.get_many([n])[n]
            if item.state == "live":
                return item
        begin = [session for session in self.sessions(limit=MOST_SESSIONS) if session.id.startswith(wanted)]
        if len(begin) > 1:
            raise UsageError(
                f"{len(begin)} sessions begin with {wanted}", hint=f"Say more of it, for example {begin[0].id}."
            )
        if not begin:
            raise NotFound(f"there is no session {wanted}", hint="'ricordo sessions list' shows what is there.")
        n = self.store.items.require(Ref.parse(begin[0].ref))
        return self.store.items.get_many([n])[n]

    def _named(self, names: Sequence[str | Ref], *, in_bin: bool) -> list[tuple[int, Ref]]:
        """As for any item; with a session, its turns are named."""
        found = dict(super()._named(names, in_bin=in_bin))
        for ref in list(found.values()):
            if ref.drive == SESSION and ref.path.count("/") == 1:
                found |= {number: below for number, below, _ in self.store.items.refs_below(SESSION, ref.path)}
        return list(found.items())

    def _rm(self, refs: Sequence[str | Ref], *, purge: bool, dry_run: bool) -> AddReport:
        """As for any item; the points to fork from go with a session."""
        report = super()._rm(refs, purge=purge, dry_run=dry_run)
        gone = [Ref.parse(saved.ref) for saved in report.items]
        for ref in gone if not dry_run else ():
            if ref.drive == SESSION and ref.path.count("/") == 1:
                for number, _ in self.store.threads.archived_below(SESSION, f"{ref.path}/checkpoints"):
                    self.store.changes.remove(number, purge=purge)
        return report

    def restore(self, ref: str | Ref, version: int | None = None) -> Saved:
        """As for any item; the turns and points to fork from that went with a session come back with it."""
        item = self.store.items.get(self._number(ref))
        saved = super().restore(ref, version)
        if item.ref.drive == SESSION and item.ref.path.count("/") == 1 and item.state != "live":
            away = Filters(drives=(SESSION,), paths=(f"{item.ref.path}/*",), states=(item.state,))
            for n, part in self.store.items.listing(away, 1 << 30, 0):
                if part.fields.category == CHECKPOINT:
                    if item.state == "archived":
                        continue  # points to fork from are kept there
                    draft = self._pipeline.prepare_draft(self.store.items.draft(n, part.version))
                    self.store.changes.save_archived([draft], backlog=self._backlog())
                else:
                    super().restore(part.ref)
        return saved

    def timeline(
        self,
        *,
        since: str | datetime | None = None,
        thread: str | None = None,
        kinds: Sequence[str] = (),
        limit: int = 50,
    ) -> Timeline:
        """What happened since a time or for a span (``7d``), in order: said, made, changed, remembered, put away.

        Use of tools is told where a thread is asked for.
        """
        from ricordo.context.timeline import timeline_of

        return timeline_of(self.store, since=since, thread=thread, kinds=kinds, limit=limit, newest_first=False)

    def recent(
        self,
        limit: int = 20,
        *,
        since: str | datetime | None = None,
        thread: str | None = None,
        kinds: Sequence[str] = (),
    ) -> Timeline:
        """The latest happenings, the newest first."""
        from ricordo.context.timeline import timeline_of

        return timeline_of(self.store, since=since, thread=thread, kinds=kinds, limit=limit, newest_first=True)

    def route(self, task: str, limit: int = 5) -> Routes:
        """Points in sessions to fork from for a task, by words and meaning, weighed by how it went on from there."""
        from ricordo.context.routing import routes_from

        if limit < 1:
            raise UsageError("the limit is at least 1")
        answer = self.search(
            task,
            limit=4 * limit,
            mode="full",
            filters=Filters(kinds=(SESSION,), categories=(CHECKPOINT,)),
            literal=True,
            track=False,
            tool="route",
        )
        stores = {tier.name: tier.store for tier in self._federation.tiers if tier.is_open}
        return routes_from(task, answer, stores, limit)
