"""What each hook answers: the items that every agent gets and what happened last, or what a task needs.

On a busy machine it searches by words first, which needs no model, and then by meaning if there is time; a hook that
runs out of time has the first answer. On an idle machine one search by words and meaning is enough. Transcripts are
read by a separate process, because they may be long and a session must not wait for them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo.bounded import caller_waits
from ricordo.config.files import standing_in
from ricordo.config.loading import Config, ConfigProvider
from ricordo.errors import Error, NoStore
from ricordo.frozen import frozen
from ricordo.hook_log import PRINT_NOTHING, STARTS, TRANSCRIPT, had_no_store, log, open_log, trouble
from ricordo.hooks.payload import NAMES, Payload, read_payload
from ricordo.hooks.pipe import Outlet
from ricordo.log import keep_log, report
from ricordo.plugin import ask
from ricordo.programs.table import running_program
from ricordo.speaking import asker, speaking
from ricordo.text.stopwords import has_content
from ricordo.values.provenance import AGENT, Provenance
from ricordo.vault import is_encrypted

if TYPE_CHECKING:
    from ricordo.engine.ricordo import Ricordo

IDLE_BEFORE_IMPORT = 0.8
"""The machine counts as idle if at least this share of the time is left before the engine is imported."""
IDLE_WHEN_OPEN = 0.6
"""And if at least this share is left when the store is open."""
ENOUGH_FOR_MEANING = 0.3
"""The share of the time that must be left to search again by meaning."""
TASKS_ANSWERED = 4
"""For how many tasks a sub-agent gets context if the program does not say which one is its own."""
LONGEST_TASK_NAME = 80
"""How many letters of a task are told where there are several."""

NOTHING_TOLD = "it tells nothing now, because the store or the settings cannot be read: ricordo doctor"
NO_STORE = "it knows nothing here and keeps nothing, because there is no store: ricordo init"
"""Told once in seven days: who uses a store in some projects alone need not hear it in every other folder."""
OWN_TIER = "agent"
"""The tier of the user's own store."""

Warm = Callable[[Path, str | None, str | None], AbstractContextManager["Ricordo"]]
"""Opens a store that is kept open: its folder, and the flags --store and --tier."""


def run(
    event: str,
    content: bytes,
    outlet: Outlet,
    *,
    store: str | None = None,
    tier: str | None = None,
    here: Path | None = None,
    warm: Warm | None = None,
    env: Mapping[str, str] | None = None,
) -> None:
    """Offer an answer; whatever goes wrong is logged and does not reach the caller.

    A running server passes the caller's folder as ``here``, the variables that tell its program as ``env``, and
    ``warm``, which gives it a store that is open already.
    """
    try:
        _run(event, content, outlet, _Place(store, tier, here, warm, os.environ if env is None else env))
        if outlet.note_items is not None:
            outlet.note_items()
    except (Error, OSError, ValueError) as error:  # a store, a file or a payload that cannot be read
        log(event, f"{type(error).__name__}: {error}")
    except Exception as error:  # noqa: BLE001 - a bug must not fail the program that called the hook
        log(event, f"{type(error).__name__}: {error}")
        keep_log()
        report(f"the hook of the event '{event}' failed", error)


@frozen
class _Place:
    """Which store is asked, how it is opened, and by which program: its variables tell."""

    store: str | None
    tier: str | None
    here: Path | None
    warm: Warm | None
    env: Mapping[str, str]


def _run(event: str, content: bytes, outlet: Outlet, place: _Place) -> None:
    if event not in NAMES:
        log(event, f"no such hook; there are: {', '.join(NAMES)}")
        return
    payload = read_payload(event, content, place.here)
    try:
        _tell(event, payload, outlet, place)
    except NoStore:
        if event == STARTS and not had_no_store():
            outlet.offer(payload.answer(f"Ricordo: {NO_STORE}"))
        raise
    except Error as error:
        if place.store is None and place.tier is None:  # if a project's store is broken, the user's own is told alone
            from ricordo.engine.context import LEFT_OUT

            with suppress(Error):
                _tell(event, payload, outlet, replace(place, tier=OWN_TIER), without=LEFT_OUT)
                log(event, f"{type(error).__name__}: {error}")
                return
        if event == STARTS:  # whose agent would work without a word of the user's
            outlet.offer(payload.answer(f"Ricordo: {NOTHING_TOLD}"))
        raise


def _tell(event: str, payload: Payload, outlet: Outlet, place: _Place, *, without: str = "") -> None:
    provider = ConfigProvider(start=payload.folder)
    hooks = provider().hooks
    outlet.limit(hooks.seconds)
    if not hooks.enabled:
        return
    if event in PRINT_NOTHING:
        if hooks.transcripts:
            _start_reading(payload, provider(), place)
        return
    if event == STARTS:
        wanted = _Wanted(("",), hooks.start_budget, without=without)
    elif event == "before-agent-start":
        wanted = _Wanted(payload.tasks[:TASKS_ANSWERED] or ("",), hooks.budget)
    elif has_content(payload.task):  # the items that every agent gets were given when the session started
        wanted = _Wanted((payload.task,), hooks.budget, always=False)
    else:
        return
    if wanted.budget:
        said = Provenance(AGENT, running_program(place.env), payload.session, "hook")
        with standing_in(payload.folder), speaking(said):
            if event == STARTS and place.store is None and place.tier is None:
                _offer_own(payload, wanted, provider, outlet, place=place)
            _answer(payload, wanted, provider, outlet, place=place)


@frozen
class _Wanted:
    """What the answer should hold: for which tasks, in how many tokens, and whether with the items that every agent
    gets.
    """

    tasks: tuple[str, ...]
    budget: int
    always: bool = True
    without: str = ""
    """Why the project's store is left out, if it is."""


def _offer_own(
    payload: Payload, wanted: _Wanted, provider: Callable[[], Config], outlet: Outlet, *, place: _Place
) -> None:
    """In a project, offer first what the user's own store tells: it does not wait for a store and files that anybody
    may have made.
    """
    from ricordo.config.places import comes_with_project, locate
    from ricordo.engine.context import TOO_SLOW

    project = locate(None, provider(), payload.folder).location
    if comes_with_project(project.origin) and project.is_there:
        with suppress(Error):  # the user has no store yet
            _answer(payload, replace(wanted, without=TOO_SLOW), provider, outlet, place=replace(place, tier=OWN_TIER))


def _answer(
    payload: Payload, wanted: _Wanted, provider: Callable[[], Config], outlet: Outlet, *, place: _Place
) -> None:
    if place.warm is not None:
        with place.warm(payload.folder, place.store, place.tier) as engine:
            _offer(engine, payload, wanted, outlet)
        return
    settings = provider()
    meaning = any(wanted.tasks) and settings.search.backend == "hybrid" and settings.embedding.provider != "none"
    idle = outlet.left > IDLE_BEFORE_IMPORT
    embedder = None
    if meaning and idle:
        from ricordo.registry import embedder_ahead

        embedder = embedder_ahead(settings)
    from ricordo.engine.ricordo import Ricordo

    by_words = True

    def config() -> Config:
        now = for_hooks(provider())
        if not by_words:
            return now
        backend = "lexical" if now.search.backend == "hybrid" else now.search.backend
        return replace(now, search=replace(now.search, backend=backend), rerank=replace(now.rerank, kind="none"))

    with Ricordo.open(
        place.store, config=config, create=False, start=payload.folder, tier=place.tier, embedder=embedder
    ) as engine:
        # A provider that is reached over a network may never answer, so there the words come first in any case.
        if not (meaning and idle and settings.embedding.provider == "local" and outlet.left > IDLE_WHEN_OPEN):
            _offer(engine, payload, wanted, outlet)
        if meaning and outlet.left > ENOUGH_FOR_MEANING:
            by_words = False
            _offer(engine, payload, wanted, outlet)


def for_hooks(config: Config) -> Config:
    """The settings of a search for a hook: it has its own bound for what fits too little, as nobody asked it."""
    return replace(config, search=replace(config.search, min_fit=config.hooks.min_fit))


def _offer(engine: Ricordo, payload: Payload, wanted: _Wanted, outlet: Outlet) -> None:
    """Offer what fits the tasks, each with its share of the budget."""
    from ricordo import told_log
    from ricordo.engine.context import project_notes, sealing_store
    from ricordo.engine.tiers import waiting_for_user
    from ricordo.trust.fence import joined, quoted

    texts: list[str] = []
    refs: list[str] = []
    tokens = 0
    share = wanted.budget // len(wanted.tasks)
    for number, task in enumerate(wanted.tasks):
        with caller_waits(outlet.seconds_left, outlet.at_most):
            always = wanted.always and number == 0
            report = engine.context(task, budget=share, recent=not task, always=always, session=payload.session)
        if report.text.strip():
            heading = f"# If your task is: {quoted(task, LONGEST_TASK_NAME)}" if len(wanted.tasks) > 1 else ""
            texts.append(joined(heading, report.text, gap="\n"))
            refs += [part.ref for part in report.parts]
            tokens += report.tokens
        if not task:  # said once, when a session starts
            notes = [wanted.without] if wanted.without else [*project_notes(engine), waiting_for_user(engine._context)]
            notes.append(trouble(engine.config.hooks.seconds))
            texts += [f"Ricordo: {note}" for note in notes if note]
    text = joined(*texts)
    outlet.offer(payload.answer(text) if text else {})
    if payload.goes_on and payload.transcript is not None and engine.config.hooks.transcripts:
        again = joined(*ask("session_goes_on", engine, payload.transcript))  # it may take longer: a long transcript
        outlet.offer(payload.answer(joined(again, text)) if again or text else {})
    outlet.note_items = None
    if refs and engine.config.usage.log:
        outlet.note_items = partial(
            told_log.note, payload.name, engine.location, refs,
            asker=asker(), tokens=tokens, sealing=sealing_store(engine),
        )  # fmt: skip


def _start_reading(payload: Payload, config: Config, asked: _Place) -> None:
    """Start a process that reads the transcript and outlives this one; where there is no store, none is made."""
    from subprocess import DEVNULL

    from ricordo.config.files import is_left_alone
    from ricordo.config.places import locate
    from ricordo.hosting.background import start_detached
    from ricordo.programs.table import DOOR

    place = locate(asked.store, config, payload.folder, asked.tier).location
    if payload.transcript is None or not place.is_there:
        log(TRANSCRIPT, "there is no transcript" if payload.transcript is None else f"there is no store {place.name}")
        return
    if is_left_alone(payload.folder):
        log(TRANSCRIPT, "the folder is left alone, because a .ricordoignore says so")
        return
    command = [sys.executable, "-P", "-m", "ricordo", "sessions", "add", str(payload.transcript), "--no-wait"]
    with open_log() if not is_encrypted(place.name) else open(os.devnull, "wb") as errors:  # noqa: PTH123 - no path
        command += ["--quiet", "--store", place.address or place.name]
        start_detached(command, payload.folder, DEVNULL, errors, **{DOOR: "hook"})
