"""The records of use: what was found and opened, verdicts on it, and the weights that are learned from them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ricordo.config.settings import Config, UsageSettings
from ricordo.errors import NotFound, Unavailable, UsageError
from ricordo.frozen import frozen
from ricordo.log import report
from ricordo.secrets.private import without_private
from ricordo.speaking import asker, speaker
from ricordo.store.base import Store
from ricordo.values.hits import Answer
from ricordo.values.items import Item
from ricordo.values.kinds import VERDICTS
from ricordo.values.provenance import AGENT, read
from ricordo.values.use import (
    NEEDED,
    FeedbackReport,
    Learned,
    LearningStatus,
    Move,
    ProfileLearning,
    Use,
    UsedItem,
    WeightChange,
    acceptance,
    shift_for,
    shifted,
    tally,
)
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.verbs.declare import Say

CHANGES_SHOWN = 50
"""How many changes of weights the status lists."""
LINGER_SECONDS = 0.1
"""How long the thread waits for more before it writes, so that quick searches share one transaction."""

CLOSE_SECONDS = 2.0
"""How long closing waits for what is still to be written."""

ATTEMPT_SECONDS = 0.5
"""How long one attempt waits for another process that holds the store; short, so that closing is not held up."""

ATTEMPTS = 20
KEEP_DAYS = 90.0
"""Older entries of the log are dropped."""
MOST_WAITING = 10_000
"""If more records wait, new ones are dropped, because the store has been busy for very long."""


class Tracker:
    """Remembers the use of one store's items."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._lock = threading.Lock()
        self._waiting: list[Use] = []
        self._thread: threading.Thread | None = None
        self._hurry = threading.Event()
        self._last_attempt: float | None = None

    def searched(self, answer: Answer, *, text: str, tool: str, settings: UsageSettings, opened: bool = False) -> None:
        """Note what a search found; ``opened`` if its profile counts being found as being opened."""
        items = tuple(UsedItem(hit.id, hit.version, hit.score) for hit in answer.hits)
        refs = tuple(hit.ref for hit in answer.hits)
        meta = answer.meta
        use = Use(
            items, tool, text, profile=meta.profile, ms=meta.milliseconds, refs=refs, opened=opened,
            logged=settings.log, asker=asker(), fit=meta.fit,
        )  # fmt: skip
        self._record(use)

    def opened(self, item: Item, *, settings: UsageSettings) -> None:
        self._record(Use((UsedItem(item.id, item.version),), "get", opened=True, logged=settings.log, asker=asker()))

    def flush(self, seconds: float = CLOSE_SECONDS) -> bool:
        """Wait until all is written; returns whether it is."""
        with self._lock:
            thread = self._thread
            if thread is not None:
                self._hurry.set()
        if thread is not None:
            thread.join(seconds)
        return thread is None or not thread.is_alive()

    def close(self) -> None:
        """Write what is left, within a time limit; no records are taken after this."""
        with self._lock:
            self._last_attempt = time.monotonic() + CLOSE_SECONDS - 2 * ATTEMPT_SECONDS
        self.flush()

    def _record(self, use: Use) -> None:
        if not self.store.usage.can_record():
            return
        with self._lock:
            if self._last_attempt is not None or len(self._waiting) >= MOST_WAITING:
                return
            self._waiting.append(use)
            if self._thread is None:
                self._hurry.clear()
                self._thread = threading.Thread(target=self._work, name="ricordo-usage", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while True:
            self._hurry.wait(LINGER_SECONDS)
            with self._lock:
                batch, self._waiting = self._waiting, []
                if not batch:
                    self._thread = None
                    return
            try:
                self._write(batch)
            except Exception as error:  # noqa: BLE001 - the end of the thread: a lost record must not fail a search
                report(f"{len(batch)} uses were not recorded", error)

    def _write(self, batch: list[Use]) -> None:
        batch = [_without_secrets(use) for use in batch]
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self.store.usage.record(batch, keep_days=KEEP_DAYS, wait=ATTEMPT_SECONDS)
                return
            except Unavailable:
                if attempt == ATTEMPTS or (self._last_attempt is not None and time.monotonic() > self._last_attempt):
                    raise


def _without_secrets(use: Use) -> Use:
    """A use as it is logged; what an agent searches for may hold a secret."""
    if use.text is None or read(use.asker).author != AGENT:
        return use
    from ricordo.secrets.find import redact

    return replace(use, text=redact(use.text)[0])


@frozen
class Learner:
    """A profile that learns: the name of its text signal, and its own weights."""

    text_signal: str
    weights: Mapping[str, float]

    def shifted(self, shift: float) -> dict[str, float]:
        return shifted(self.weights, self.text_signal, shift)


class Learning:
    """What one store's profiles learn from feedback. ``learners`` gives the profiles that do, by name."""

    def __init__(
        self, store: Store, config: Callable[[], Config], learners: Callable[[], Mapping[str, Learner]]
    ) -> None:
        self.store = store
        self.config = config
        self.learners = learners

    def take(self, query: str, n: int, ref: str, verdict: str) -> FeedbackReport:
        """Store a verdict on an item, and adjust the weights if there is reason to."""
        if verdict not in VERDICTS:
            raise UsageError(f"there is no verdict '{verdict}'", hint=f"One of: {', '.join(VERDICTS)}.")
        if not query.strip():
            raise UsageError("feedback needs the query that it is about", hint="‹:feedback QUERY REF VERDICT›")
        query = without_private(query)
        counted = VERDICTS[verdict] is not None and not self.store.lessons.learning_frozen()
        if speaker().author == AGENT:
            from ricordo.secrets.find import redact

            query = redact(query)[0]
        self.store.lessons.add_feedback(query, n, verdict, counted=counted)
        changes: list[WeightChange] = []
        if counted:
            for name, learner in self.learners().items():
                change = self.store.lessons.move_weights(name, partial(_next_move, learner))
                if change is not None:
                    changes.append(change)
        return FeedbackReport(query, ref, verdict, counted, changes=tuple(changes))

    @verb(
        "read",
        "look after",
        "Say what was learned, and from what.",
        path="learn status",
        examples=("ricordo learn status",),
    )
    def status(self) -> LearningStatus:
        """What was learned so far, and from what."""
        profiles = []
        for name, learner in self.learners().items():
            state = self.store.lessons.learned(name)
            entries, _ = tally(state.verdicts)
            profiles.append(
                ProfileLearning(
                    name,
                    learner.text_signal,
                    state.shift,
                    counted=entries,
                    needed=NEEDED,
                    acceptance=acceptance(state.verdicts),
                    own=learner.shifted(0.0),
                    weights=learner.shifted(state.shift),
                )
            )
        lessons = self.store.lessons
        return LearningStatus(
            True,
            lessons.learning_frozen(),
            verdicts=lessons.feedback_counts(),
            profiles=tuple(profiles),
            changes=tuple(lessons.weight_changes(limit=CHANGES_SHOWN)),
        )

    @verb(
        "admin",
        "look after",
        "Keep the weights as they are, or let feedback move them again.",
        path="learn freeze",
        answers="frozen",
        examples=("ricordo learn freeze", "ricordo learn freeze --off"),
    )
    def freeze(self, *, off: Annotated[bool, Say("Learn again, from the verdicts that come.")] = False) -> bool:
        """Verdicts that are given while the weights are frozen change none, in any process."""
        self.store.lessons.freeze_learning(not off)
        return not off

    @verb(
        "admin",
        "look after",
        "Undo the latest change of weights, or all since one.",
        path="learn rollback",
        answers="changes",
        examples=("ricordo learn rollback", "ricordo learn rollback 12"),
    )
    def rollback(
        self, change: Annotated[int, Say("The change to undo.", 1, 2**31, shown="ID", http="id")] | None = None
    ) -> tuple[WeightChange, ...]:
        """Undo a change and all later ones of its profile, or everything that was learned. Earlier verdicts count no
        more.
        """
        if change is None:
            names = [name for name in self.learners() if self.store.lessons.learned(name).shift]
            shift, reason = 0.0, "rollback"
            if not names:
                raise NotFound("nothing was learned that could be undone", hint="‹:learn status› shows what was.")
        else:
            earliest = self.store.lessons.weight_change(change)
            if earliest is None:
                raise NotFound(f"there is no change {change}", hint="‹:learn status› lists them.")
            names, shift, reason = [earliest.profile], earliest.shift_before, f"rollback of {change}"
        learners = self.learners()
        made = []
        for name in names:
            learner = learners.get(name) or Learner("", {})
            done = self.store.lessons.move_weights(
                name, partial(_move, learner, shift=shift, reason=reason, restart=True)
            )
            if done is not None:
                made.append(done)
        return tuple(made)


def _next_move(learner: Learner, state: Learned) -> Move | None:
    """The change of weights that the verdicts ask for; None if they are too few, or ask for no change."""
    shift = shift_for(state.verdicts)
    return None if shift is None or shift == state.shift else _move(learner, state, shift=shift, reason="feedback")


def _move(learner: Learner, state: Learned, *, shift: float, reason: str, restart: bool = False) -> Move:
    entries, _ = tally(state.verdicts)
    before, after = learner.shifted(state.shift), learner.shifted(shift)
    return Move(shift, reason, before, after, counted=entries, restart=restart)
