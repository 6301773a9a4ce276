"""What each hook says: what is always to be known and what happened last, or what a task needs.

First by words alone, which takes no model, then, while there is time, by meaning too: a hook that is late says the
first. Transcripts are taken in by a process of their own, because they may be long and a session does not wait.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ricordo.cli.hook_payload import LARGEST, NAMES, Payload, is_worth_asking, read_payload
from ricordo.cli.hook_process import Outlet, log, open_log
from ricordo.config.loading import Config, ConfigProvider
from ricordo.errors import Error
from ricordo.frozen import frozen
from ricordo.log import keep_log, report

if TYPE_CHECKING:
    from ricordo.engine import Ricordo

AT_EASE = 0.8
"""The share of the time that is left at first where the machine has time to load the model meanwhile."""
ENOUGH = 0.3
"""The share of the time that must be left to ask again by meaning."""


def run(event: str, outlet: Outlet, *, store: str | None = None, tier: str | None = None) -> None:
    """Offer what there is to say; whatever goes wrong is logged and does not reach the caller."""
    try:
        _run(event, outlet, store, tier)
    except Error as error:
        log(event, f"{type(error).__name__}: {error}")
    except Exception as error:  # noqa: BLE001 - a hook must never fail the program that called it
        log(event, f"{type(error).__name__}: {error}")
        keep_log()
        report(f"the hook of the event '{event}' failed", error)


def _run(event: str, outlet: Outlet, store: str | None, tier: str | None) -> None:
    content = _standard_input()
    if event not in NAMES:
        log(event, f"no such hook; there are: {', '.join(NAMES)}")
        return
    payload = read_payload(event, content)
    provider = ConfigProvider(start=payload.folder)
    hooks = provider().hooks
    outlet.limit(hooks.seconds)
    if not hooks.enabled:
        return
    if event in ("pre-compact", "session-end"):
        if hooks.transcripts:
            _take_in(payload, provider(), store, tier)
        return
    if event == "session-start":
        _tell(payload, _Telling("", hooks.session_start_budget), provider, outlet, store, tier)
    elif event == "before-agent-start":
        _tell(payload, _Telling(payload.task, hooks.agent_budget), provider, outlet, store, tier)
    elif is_worth_asking(payload.task):  # what is always told was told when the session started
        _tell(payload, _Telling(payload.task, hooks.prompt_budget, always=False), provider, outlet, store, tier)


@frozen
class _Telling:
    task: str
    budget: int
    always: bool = True


def _tell(
    payload: Payload,
    telling: _Telling,
    provider: Callable[[], Config],
    outlet: Outlet,
    store: str | None,
    tier: str | None,
) -> None:
    if not telling.budget:
        return
    settings = provider()
    meaning = bool(telling.task) and settings.search.backend == "hybrid" and settings.embedding.provider != "none"
    embedder = None
    if meaning and outlet.left > AT_EASE:
        from ricordo.registry import embedder_ahead

        embedder = embedder_ahead(settings)
    from ricordo.engine import Ricordo

    by_words = True

    def config() -> Config:
        now = provider()
        search = replace(now.search, min_score=max(now.search.min_score, now.hooks.min_score))
        if not by_words:
            return replace(now, search=search)
        backend = "lexical" if search.backend == "hybrid" else search.backend
        return replace(now, search=replace(search, backend=backend), rerank=replace(now.rerank, kind="none"))

    with Ricordo.open(store, config=config, create=False, start=payload.folder, tier=tier, embedder=embedder) as engine:
        _offer(engine, payload, telling, outlet)
        if meaning and outlet.left > ENOUGH:
            by_words = False
            _offer(engine, payload, telling, outlet)


def _offer(engine: Ricordo, payload: Payload, telling: _Telling, outlet: Outlet) -> None:
    told = engine.context(telling.task, budget=telling.budget, recent=not telling.task, always=telling.always)
    outlet.offer(payload.answer(told.text) if told.text.strip() else {})


def _take_in(payload: Payload, config: Config, store: str | None, tier: str | None) -> None:
    """Hand the transcript over to a process that outlives this one; where there is no store, none is made."""
    import subprocess

    from ricordo.config.places import locate

    place = locate(store, config, payload.folder, tier).location.path
    if payload.transcript is None or not place.exists():
        log("transcript", "there is no transcript" if payload.transcript is None else f"there is no store {place}")
        return
    command = [sys.executable, "-P", "-m", "ricordo", "sessions", "add", str(payload.transcript), "--no-wait"]
    detached = 0
    if sys.platform == "win32":
        detached = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
    with open_log() as errors:
        subprocess.Popen(
            [*command, "--quiet", "--store", str(place)],
            cwd=payload.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
            creationflags=detached,
        )


def _standard_input() -> bytes:
    """All that is sent, though only so much of it is kept: a program that cannot finish writing may complain."""
    content = b""
    while sys.stdin is not None and (part := sys.stdin.buffer.read(1_000_000)):
        if len(content) <= LARGEST:
            content += part
    return content
