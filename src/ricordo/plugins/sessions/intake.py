"""Takes in sessions: each event becomes one item of a thread, however often the transcript is read.

1. Look up how far the transcript was read, and whether it only grew since.
2. Read what is new, a line at a time; secrets are removed before anything is counted or stored.
3. Give each new event the next position in its thread, and write the events in batches.
4. Write what the session was about, and its checkpoints; note how far it was read, which makes no new version.

How far it was read is noted with every batch, so that a long transcript is read to its end even if each reader is
stopped early. An event is recognised by its key alone, so it does no harm if a process dies in between or if two
processes read the same transcript.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ricordo.ingest.pipeline import Incoming, Pipeline
from ricordo.plugins.sessions.facets import (
    CheckpointMaker,
    Tally,
    facets_of,
    goes_on,
    is_only_praise,
    turn_facets,
)
from ricordo.plugins.sessions.values import (
    LONGEST_RESULT,
    Checkpoint,
    SessionEvent,
    SessionHint,
    shortened,
)
from ricordo.secrets.find import redact, redact_values
from ricordo.store.base import Store
from ricordo.store.values import Backlog, FileState
from ricordo.values.items import Item, Parsed, Ref, Saved
from ricordo.values.kinds import CHECKPOINT, SESSION, WROTE

if TYPE_CHECKING:
    from ricordo.plugins.sessions.transcripts.files import Transcript
    from ricordo.plugins.sessions.transcripts.records import RecordsTranscript

    TranscriptFile = Transcript | RecordsTranscript

DRIVE = "session"


def turn_item(session: str, seq: int, key: str, event: SessionEvent, *, at: datetime) -> Incoming:
    """An event as an item; what a person said carries how it takes what came before."""
    metadata: dict[str, Any] = {"key": key, "role": event.role, "direction": event.direction, "at": at.isoformat()}
    metadata |= {"tool": event.tool} if event.tool else {}
    metadata |= {"files": list(event.files)} if event.files else {}
    metadata |= {WROTE: dict(event.wrote)} if event.wrote else {}
    flags = {"request": event.is_request, "aside": event.is_aside, "error": event.is_error}
    metadata |= {name: True for name, held in flags.items() if held}
    if event.role == "user" and not event.is_aside:
        facets = turn_facets(event.text)
        if not facets.is_neutral():
            metadata["facets"] = facets.to_dict()
        if goes_on(event.text):
            metadata["goes_on"] = True
    fields: dict[str, Any] = {"thread": session, "seq": seq, "source": "agent", "metadata": metadata}
    ref = Ref(DRIVE, f"/{session}/{seq}")
    return Incoming(ref, Parsed(event.text), SESSION, fields, times=(at, at), origin=f"session {session}, turn {seq}")


def point_item(point: Checkpoint, folder: str) -> Incoming:
    """A checkpoint as an item. It is named by the position of its request, because how far the work got may change."""
    metadata = {"turn": point.turn, "request": point.request, "files": list(point.files), "folder": folder}
    fields = {
        "title": point.title,
        "category": CHECKPOINT,
        "source": "agent",
        "thread": point.session,
        "metadata": {name: value for name, value in metadata.items() if value},
    }
    at = point.at or datetime.now(UTC)
    ref = Ref(DRIVE, f"/{point.session}/checkpoints/{point.request}")
    origin = f"session {point.session}, turn {point.turn}"
    return Incoming(ref, Parsed(point.text), SESSION, fields, times=(at, at), origin=origin)


def left_alone(item: Item) -> Saved:
    """The answer for a session that the user removed or forgot: new events do not bring it back."""
    how = "removed" if item.state == "deleted" else "forgotten"
    return Saved(str(item.ref), "skipped", reason=f"it was {how}; 'ricordo restore {item.ref}' brings it back")


BATCH = 200


@dataclass(slots=True)
class _Thread:
    """A session while it is read."""

    id: str
    item: Item | None
    tally: Tally
    maker: CheckpointMaker
    known: dict[str, int]
    read_before: int
    """The last position that was written when reading stopped the last time."""
    reached: int = 0
    """The last position that was read by now."""
    is_left_alone: bool = False
    repeats: Counter[str] = field(default_factory=Counter)
    following: int = 1
    added: int = 0
    at: datetime | None = None
    ended: list[Checkpoint] = field(default_factory=list)
    titles: list[SessionHint] = field(default_factory=list)
    redacted: list[str] = field(default_factory=list)

    @property
    def ref(self) -> Ref:
        return Ref(DRIVE, f"/{self.id}")

    def name(self, event: SessionEvent) -> str:
        """The event's key; a key made from the line also holds a number, because the same line may occur several
        times.
        """
        if not event.key.startswith("~"):
            return event.key
        self.repeats[event.key] += 1
        return f"{event.key}.{self.repeats[event.key]}"


class SessionTaker:
    """Takes transcripts into one store."""

    def __init__(
        self, store: Store, pipeline: Pipeline, *, backlog: Backlog | None, allow_secrets: bool = False
    ) -> None:
        self.store = store
        self.pipeline = pipeline
        self.backlog = backlog
        self.allow_secrets = allow_secrets
        self.notes: list[str] = []

    def take(self, transcript: TranscriptFile) -> list[Saved]:
        """Take in what is new in a transcript; returns a result for each session in it."""
        main = Ref(DRIVE, f"/{transcript.session}")
        item, state = self._stored(main)
        if item is not None and item.state != "live":
            return [left_alone(item)]
        if state is not None and state.looks_like(transcript.mtime, transcript.size):
            return [Saved(str(main), "skipped", reason="unchanged")]
        kept = dict(state.fields) if state is not None else {}
        offset = int(kept.get("offset") or 0)
        grew = state is not None and transcript.grew_from(offset, state.hash)
        threads: dict[str, _Thread] = {}
        batch: list[tuple[_Thread, str, SessionEvent]] = []
        in_order = grew or state is None
        line = 0
        for found in transcript.events(offset if grew else 0):
            if len(batch) >= BATCH and transcript.before != line:
                self._write(batch, in_order)
                batch = []
                if in_order:
                    self._note(transcript, threads, main)
            thread = threads.get(found.session)
            if thread is None:
                thread = threads[found.session] = self._thread(found.session, grew=grew)
            if thread.is_left_alone:
                continue
            if isinstance(found, SessionHint):
                self._hint(thread, found)
                continue
            batch.append((thread, thread.name(found), found))
            line = transcript.before
        self._write(batch, in_order)
        if not in_order:  # it was read to its end, so all known events come before that
            for thread in threads.values():
                thread.reached = max(thread.known.values(), default=0)
        return self._finish(transcript, threads, main, kept)

    def _stored(self, ref: Ref) -> tuple[Item | None, FileState | None]:
        """The stored session and the state of its transcript, if they exist."""
        n = self.store.items.number(ref)
        if n is None:
            return None, None
        return self.store.items.get_many([n])[n], self.store.files.states([n]).get(n)

    def _thread(self, session: str, *, grew: bool) -> _Thread:
        ref = Ref(DRIVE, f"/{session}")
        known = self.store.threads.keys(session)
        item, state = self._stored(ref)
        kept = state.fields if state is not None else {}
        before = int(kept.get("last_seq") or 0) if grew else 0
        thread = _Thread(
            session,
            item,
            Tally.from_dict(kept.get("tally")),
            replace(CheckpointMaker.from_dict(kept.get("checkpoint")), session=session),
            known,
            before,
            is_left_alone=item is not None and item.state != "live",
            reached=before,
            following=max(known.values(), default=0) + 1,
        )
        # Lines that were read before count as known. Lines that a process wrote without noting how far it came
        # are read again now.
        thread.repeats.update(key.rpartition(".")[0] for key, seq in known.items() if key[0] == "~" and seq <= before)
        return thread

    def _hint(self, thread: _Thread, hint: SessionHint) -> None:
        if hint.title:
            hint = replace(hint, title=redact(hint.title, allow_secrets=self.allow_secrets)[0])
        if hint.about:
            thread.titles.append(hint)  # only at the end it is known whether that event belongs to this session
        else:
            thread.tally.hint(hint)

    def _write(self, batch: Sequence[tuple[_Thread, str, SessionEvent]], count_known: bool) -> None:
        """Write the new events; ``count_known`` says whether events that are stored already still have to be
        counted.
        """
        fresh: list[tuple[_Thread, str, Incoming]] = []
        for thread, key, event in batch:
            seq = thread.known.get(key)
            if seq is not None and not count_known:
                continue
            event = self._clean(event, thread if seq is None else None)
            text = event.text
            at = thread.at = event.at or thread.at or datetime.now(UTC)
            if seq is None:
                seq = thread.known[key] = thread.following
                thread.following += 1
                thread.added += 1
                fresh.append((thread, key, turn_item(thread.id, seq, key, event, at=at)))
            thread.reached = max(thread.reached, seq)
            asks = event.is_request and not is_only_praise(text)
            thread.tally.take(replace(event, is_request=asks), self.store.analyzer.is_stop_word)
            ended = thread.maker.take(event, seq, at)
            if ended is not None:
                thread.ended.append(ended)
        self._save(fresh)

    def _clean(self, event: SessionEvent, thread: _Thread | None) -> SessionEvent:
        """An event as it is stored: what is private and secrets are removed from text and files first, then long texts
        are cut.
        """
        text, kinds = redact(event.text, allow_secrets=self.allow_secrets)
        clean, more = redact_values({"files": list(event.files)}, allow_secrets=self.allow_secrets)
        files = tuple(clean["files"])
        if thread is not None:
            thread.redacted += (*kinds, *more)
        if event.role == "tool" and event.direction == "received":
            text = shortened(text, LONGEST_RESULT)
        return replace(event, text=text, files=files)

    def _save(self, fresh: Sequence[tuple[_Thread, str, Incoming]]) -> None:
        """Write turns. If another process took a position meanwhile, the event gets the next one, unless it is stored
        already.
        """
        while fresh:
            incoming = [one for _, _, one in fresh]
            answers = self.pipeline.save_all(incoming, on_conflict="skip", durable=False, backlog=self.backlog)
            statuses = {saved.ref: saved.status for saved in answers}
            passed = [entry for entry in fresh if statuses.get(str(entry[2].ref)) == "skipped"]
            again = []
            for thread in {id(thread): thread for thread, _, _ in passed}.values():
                stored = self.store.threads.keys(thread.id)
                thread.following = max(stored.values(), default=0) + 1
                for _, key, one in (entry for entry in passed if entry[0] is thread):
                    if key in stored:
                        thread.known[key] = stored[key]
                        thread.added -= 1
                    else:
                        seq = thread.known[key] = thread.reached = thread.following
                        ref, origin = Ref(DRIVE, f"/{thread.id}/{seq}"), f"session {thread.id}, turn {seq}"
                        moved = replace(one, ref=ref, fields={**one.fields, "seq": seq}, origin=origin)
                        again.append((thread, key, moved))
                        thread.following += 1
            fresh = again

    def _finish(
        self, transcript: TranscriptFile, threads: Mapping[str, _Thread], main: Ref, kept: Mapping[str, Any]
    ) -> list[Saved]:
        answers: list[Saved] = []
        states: dict[int, FileState] = {}
        for thread in threads.values():
            if thread.is_left_alone and thread.item is not None:
                answers.append(left_alone(thread.item))
                continue
            if not thread.known:
                answers.append(Saved(str(thread.ref), "skipped", reason="it has no messages yet"))
                continue
            if thread.item is None or thread.reached > thread.read_before or thread.titles:
                answers.append(self._answer(thread, self._about(thread, transcript)))
                self._checkpoints(thread, with_current=True)
            states[self.store.items.require(thread.ref)] = _mark(transcript, _kept(thread), thread.ref == main)
        n = self.store.items.number(main)
        if n is not None and n not in states and kept:  # the new lines hold no events
            states[n] = _mark(transcript, dict(kept), True)
        self.store.files.note(states)
        return answers or [Saved(str(main), "skipped", reason="nothing new")]

    def _note(self, transcript: TranscriptFile, threads: Mapping[str, _Thread], main: Ref) -> None:
        """Note how far the file was read; an impossible size means that there is more to read."""
        states: dict[int, FileState] = {}
        place = {"offset": transcript.before, "path": str(transcript.path)}
        check = transcript.check_at(transcript.before)
        for thread in threads.values():
            if thread.is_left_alone or not thread.known:
                continue
            n = self.store.items.number(thread.ref)
            if n is None:
                self._about(thread, transcript)
                n = self.store.items.require(thread.ref)
            self._checkpoints(thread, with_current=False)
            fields = _kept(thread) | (place if thread.ref == main else {})
            states[n] = FileState(transcript.mtime, -1, check, fields)
        self.store.files.note(states)

    def _answer(self, thread: _Thread, saved: Saved) -> Saved:
        """The result for a session: how many events are new, and which secrets were removed."""
        redacted = tuple(dict.fromkeys(thread.redacted))
        if redacted:
            found = len(thread.redacted)
            kinds = ", ".join(redacted)
            self.notes.append(f"{thread.ref}: {found} secret{'s were' if found > 1 else ' was'} taken out ({kinds})")
        if saved.error is not None:
            return saved
        added = f"{thread.added} new event{'' if thread.added == 1 else 's'}" if thread.added else "no new events"
        status = "created" if thread.item is None else "updated" if thread.added else "skipped"
        return replace(saved, status=status, reason=added, redacted=redacted)

    def _about(self, thread: _Thread, transcript: TranscriptFile) -> Saved:
        """Write the session's own item; it gets a new version only if what the session is about changed."""
        for hint in thread.titles:
            if hint.about in thread.known or f"{hint.about}#1" in thread.known:
                thread.tally.hint(replace(hint, about=""))
        tally = thread.tally
        analyzer, count = self.store.analyzer, self.store.index.document_frequencies
        facets = facets_of(tally, analyzer, count, self.store.items.entity_titles())
        plain = facets.to_dict()
        metadata: dict[str, Any] = {name: plain[name] for name in ("keywords", "entities", "topics", "tools", "files")}
        metadata |= {name: getattr(tally, name) for name in ("folder", "branch", "parent", "started")}
        metadata["path"] = str(transcript.path)
        fields: dict[str, Any] = {
            "title": facets.title,
            "description": facets.summary,
            "category": SESSION,
            "source": "agent",
            "source_adapter": transcript.adapter,
            "thread": thread.id,
            "metadata": {name: value for name, value in metadata.items() if value},
        }
        text = "\n".join(f"- {' '.join(request.split())}" for request in tally.requests) or facets.title or thread.id
        began = datetime.fromisoformat(tally.started) if tally.started else thread.at or datetime.now(UTC)
        times = (began, max(began, thread.at or began))
        incoming = Incoming(thread.ref, Parsed(text), SESSION, fields, times=times, origin=f"session {thread.id}")
        return next(
            iter(self.pipeline.save_all([incoming], on_conflict="overwrite", durable=True, backlog=self.backlog))
        )

    def _checkpoints(self, thread: _Thread, *, with_current: bool) -> None:
        """Write the new checkpoints, and that of the request that is still being worked on."""
        current = thread.maker.current() if with_current else None
        points = [*thread.ended, *([current] if current is not None else [])]
        thread.ended = []
        prepared = [self.pipeline.prepare(point_item(point, thread.tally.folder)) for point in points]
        if prepared:
            self.store.changes.save_archived(prepared, backlog=self.backlog)


def _kept(thread: _Thread) -> dict[str, Any]:
    """The state that is needed to continue with a session."""
    return {"last_seq": thread.reached, "tally": thread.tally.to_dict(), "checkpoint": thread.maker.to_dict()}


def _mark(transcript: TranscriptFile, fields: dict[str, Any], is_main: bool) -> FileState:
    """How far a file was read; this is stored with its first session."""
    if is_main:
        fields |= {"offset": transcript.offset, "path": str(transcript.path)}
    return FileState(transcript.mtime, transcript.size if is_main else -1, transcript.check, fields)
