"""What programs that run verbs do with an open engine, besides calling verbs: commands, servers and hooks.

None of it is for users of the library, so it is not on ``Ricordo``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ricordo.config.places import Located, places
from ricordo.keys.seal import holds_secrets

if TYPE_CHECKING:
    from ricordo.engine import Ricordo

WAITING_TEXTS = 64
"""How many waiting texts a command embeds if it was not asked to embed."""

SYNC_SECONDS = 30.0
"""How often a program that stays looks for what other machines wrote."""

EMBEDDED_AT_ONCE = 16
"""How many texts a thread in the background embeds before it looks whether it should stop."""


def before_closing(engine: Ricordo, work: Callable[[], None]) -> None:
    """Call something when the engine is closed, unless an error ended its ``with`` block."""
    engine._last = work


def sealing_store(engine: Ricordo) -> str:
    """The store whose key seals what is kept of an answer outside of it: the first of those searched together that is
    encrypted. Empty if none is.
    """
    context = engine._context
    stores = (context.location, *(place.store for place in places(context.located, context.config)))
    return next((store for store in stores if holds_secrets(store)), "")


def took_in_edits(engine: Ricordo) -> bool:
    """Whether edits of knowledge files were taken in since the store was opened."""
    return engine._context.took_in_edits


def located(engine: Ricordo) -> Located:
    """Where the store is, and how it was found."""
    return engine._context.located


def embed_soon(engine: Ricordo) -> None:
    """Make the vectors of what was just written in the background; what is left when the engine closes waits."""
    from ricordo.backlog_thread import BacklogThread

    context = engine._context
    if context.background is None:
        context.background = BacklogThread(lambda: embed_some(engine))
    context.background.wake()


def sync_what_changed(engine: Ricordo) -> None:
    """Sync through the store's folders if it was changed since it was opened, or last synced here."""
    context = engine._context
    if not context.is_open or not context.unsynced_store.syncs:
        return
    if context.unsynced_store.changes_seen() != context.synced_at:
        from ricordo.engine.syncing import sync_quietly

        sync_quietly(context)


def sync_now_and_then(engine: Ricordo) -> None:
    """The same for programs that stay: what others wrote is taken in from time to time, too."""
    context = engine._context
    if context.is_open and context.unsynced_store.syncs and time.monotonic() >= context.next_sync:
        context.next_sync = time.monotonic() + SYNC_SECONDS
        context.synced_at = -1
    sync_what_changed(engine)


def embed_some(engine: Ricordo) -> bool:
    """Make some of the vectors that wait; returns whether there may be more to make."""
    if engine.config.embedding.provider == "none" or not embed_waiting_texts(engine, at_most=0):
        return False
    done = engine.embed(limit=EMBEDDED_AT_ONCE, search_missing=False)
    return not done.stopped and bool(done.embedded + done.cached)


def embed_waiting_texts(engine: Ricordo, *, at_most: int = WAITING_TEXTS) -> int:
    """Make the vectors of texts that wait, if there are few; returns how many still wait.

    Reads take in edits of knowledge files, and hooks leave sessions, without waiting for vectors. Commands call this at
    their end, so that such texts are found by meaning next time.
    """
    context = engine._context
    if context.config.embedding.provider == "none" or not context.is_open:
        return 0
    waiting = context.waiting()
    if 0 < waiting <= at_most:
        context.embed_taken_in()
        waiting = context.waiting()
    return waiting
