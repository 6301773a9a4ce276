"""Verbs about what agents did: sessions, route."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo.engine.checks import check_type
from ricordo.engine.finding import FindVerbs
from ricordo.errors import Error, NotFound, Unreadable, UsageError
from ricordo.permissions import refuse_secrets
from ricordo.plugin import ask
from ricordo.sources.disk import disk_ref
from ricordo.values.hits import Filters
from ricordo.values.items import Item, Ref, Saved
from ricordo.values.kinds import CHECKPOINT, SESSION
from ricordo.values.reports import AddReport, Progress
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.plugins.sessions.intake import SessionTaker
    from ricordo.plugins.sessions.values import Routes, Session
    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import (
        NAME_TEXT,
        AllowSecrets,
        Limit,
        LimitFlag,
        ManyLimit,
        Offset,
        PathName,
        TaskText,
        Wait,
    )

MOST_SESSIONS = 1_000


class SessionVerbs(FindVerbs):
    """Takes in transcripts of agents, and says where to go on from."""

    @verb(
        "files",
        "agents",
        "Index what is new in transcripts.",
        path="sessions add",
        is_long=True,
        examples=(
            "ricordo sessions add",
            "ricordo sessions add ~/.claude/projects/-home-me-app",
            "ricordo sessions add chat.jsonl --no-wait",
        ),
        creates=True,
    )
    def sessions_add(
        self,
        *paths: PathName,
        wait: Wait = True,
        allow_secrets: AllowSecrets = False,
        capture: Annotated[bool, Say("Also propose what they teach (default), or not; see memory.capture.")] = True,
        progress: Callable[[Progress], None] | None = None,
    ) -> AddReport:
        """Take in what is new in transcripts: files, folders, or where agents' programs keep them.

        Each event is taken in once, however often this is called. Without ``wait`` vectors are left to the backlog.
        What the sessions seem to teach waits in ``review``.
        """
        from ricordo.plugins.sessions.intake import SessionTaker
        from ricordo.plugins.sessions.transcripts.files import find_transcripts
        from ricordo.programs.table import session_places

        refuse_secrets(allowed=allow_secrets)
        taker = SessionTaker(
            self._context.unsynced_store,  # hooks call this with little time, and it reads no knowledge files
            self._context.pipeline,
            backlog=self._context.models.backlog(),
            allow_secrets=allow_secrets,
        )
        named = [Path(path).expanduser() for path in paths]
        places = named or [place for place in session_places() if place.exists()]
        files = list(dict.fromkeys(file for place in places for file in find_transcripts(place)))
        answers: list[Saved] = []
        for number, file in enumerate(files, start=1):
            answers += self._take_transcript(taker, file, is_named=file in named, with_helpers=bool(named))
            if progress is not None:
                progress(Progress(number, len(files), file.name, "sessions"))
        if not files and not named:
            where = ", ".join(map(str, session_places()))
            taker.notes.append(f"there are no transcripts in {where}; name a file or folder")
        if capture:
            new = [one.ref for one in answers if one.status in ("created", "updated")]
            taker.notes.extend(note for notes in ask("transcripts_read", self, new) for note in notes)
        return self._context.embed_after(AddReport(tuple(answers), tuple(taker.notes)), wait, progress)

    def _take_transcript(self, taker: SessionTaker, file: Path, *, is_named: bool, with_helpers: bool) -> list[Saved]:
        """Take in one file; in a folder, a file that is not a transcript is skipped."""
        from ricordo.plugins.sessions.transcripts.files import open_transcripts

        answers: list[Saved] = []
        try:
            for transcript in open_transcripts(file):
                if transcript.is_helpers and not with_helpers:
                    continue
                answers += taker.take(transcript)
                taker.notes.extend(transcript.counts.notes(file.name))
            return answers
        except Error as error:
            problem = error
            if isinstance(error, Unreadable) and not is_named:
                return [*answers, Saved(str(disk_ref(file)), "skipped", reason=error.message)]
        except OSError as error:
            problem = Unreadable(f"{file} cannot be read: {error.strerror or error}", hint="Check its permissions.")
        return [*answers, Saved(str(disk_ref(file)), "failed", error=problem.to_dict())]

    @verb(
        "read",
        "agents",
        "List the stored sessions, newest first.",
        path="sessions list",
        answers="sessions",
        examples=("ricordo sessions list --limit 5",),
    )
    def sessions(self, *, limit: Limit = 50, offset: Offset = 0) -> tuple[Session, ...]:
        """Sessions come without their turns."""
        from ricordo.plugins.sessions.routes import session_of

        filters = Filters(kinds=(SESSION,), categories=(SESSION,))
        items = [item for _, item in self._context.store.items.listing(filters, MOST_SESSIONS, 0)]
        spans = self._context.store.threads.spans([item.fields.thread or "" for item in items])
        found = [session_of(item, spans[item.fields.thread or ""]) for item in items]
        found.sort(key=lambda session: (session.ended.timestamp() if session.ended else 0.0, session.id), reverse=True)
        return tuple(found[offset : offset + limit])

    @verb(
        "read",
        "agents",
        "Show a session, turn by turn.",
        path="sessions show",
        examples=("ricordo sessions show 3f2a91c0", "ricordo sessions show 3f2a91c0 --from 40 --limit 20"),
    )
    def session(
        self,
        name: Annotated[str, Say("The id, or its beginning.", longest=NAME_TEXT, shown="ID", http="id")],
        *,
        first: Annotated[
            int, Say("From this turn on.", 1, most=10_000_000, name="from", http="first", shown="TURN")
        ] = 1,
        limit: ManyLimit = 1_000,
    ) -> Session:
        """A session with its turns from one on; the beginning of its id is enough if only one begins so."""
        from ricordo.plugins.sessions.routes import session_of, turn_of

        item = self._session_item(name)
        thread = item.fields.thread or item.ref.path[1:]
        turns = [turn_of(one) for one in self._context.store.threads.items(thread, first, first + limit - 1)]
        return session_of(item, self._context.store.threads.spans([thread])[thread], tuple(turns))

    def _session_item(self, name: str) -> Item:
        wanted = Ref.parse(name).path[1:] if Ref.looks_like(name) else name.strip()
        wanted = wanted.partition("/")[0]
        if not wanted:
            raise UsageError("a session has a name", hint="‹:sessions list› shows them.")
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
            raise NotFound(f"there is no session {wanted}", hint="‹:sessions list› shows what is there.")
        n = self._context.store.items.require(Ref.parse(begin[0].ref))
        return self._context.store.items.get_many([n])[n]

    @verb(
        "read",
        "agents",
        "Find points in earlier sessions from which to continue.",
        examples=("ricordo route 'add a retry to the upload'", "ricordo route 'fix the login' --limit 3"),
        needs_model=True,
    )
    def route(self, task: TaskText, limit: LimitFlag = 5) -> Routes:
        """Points in sessions to fork from for a task, by words and meaning, weighed by how it went on from there."""
        from ricordo.plugins.sessions.routes import routes_from
        from ricordo.search.fit import NOTHING_FITS

        check_type("task", task, str)
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
        stores = {tier.name: tier.store for tier in self._context.tiers.federation.tiers if tier.is_open}
        routes = routes_from(task, answer, stores, limit, least=self._context.config.search.min_fit)
        if routes.forks:
            return routes
        return replace(routes, notes=tuple(note for note in routes.notes if note != NOTHING_FITS))
