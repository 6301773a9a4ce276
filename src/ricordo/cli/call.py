"""One invocation: the global flags as given, the engine it opens, and the answer it prints.

Every verb ends in ``Call.answer``: one JSON envelope, or lines for a person.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ricordo.cli.terminal import Screen, person_answers
from ricordo.errors import UsageError

if TYPE_CHECKING:
    from ricordo.engine.ricordo import Ricordo
    from ricordo.values.provenance import Provenance


def said_at_terminal(env: Mapping[str, str]) -> Provenance:
    """Who speaks through a command: the person at the terminal, or the agent's program that runs the command. A hook
    says that it started the command.
    """
    from ricordo.programs.table import DOOR, running_program
    from ricordo.values.provenance import AGENT, PERSON, Provenance

    program = running_program(env)
    via = "hook" if env.get(DOOR) == "hook" else "cli"
    return Provenance(AGENT, program, via=via) if program else Provenance(PERSON, via=via)


class Call:
    """The global flags (before or after the verb; after wins), filled while the command line is read."""

    store: str | None = None
    json = False
    quiet = False
    verbose = False
    tier: str | None = None
    profile: str | None = None
    color: bool | None = None
    command = ""
    opened: Ricordo | None = None

    def __init__(self) -> None:
        self.started = time.perf_counter()

    def screen(self) -> Screen:
        language = "english"
        if self.opened is not None:
            with suppress(UsageError):  # somebody broke the settings meanwhile, and that is what is to be shown
                language = self.opened.config.lexical.language
        return Screen(color=self.color, quiet=self.quiet or self.json, verbose=self.verbose, language=language)

    def has_store(self) -> bool:
        from ricordo.config.files import current_folder
        from ricordo.config.loading import load_config
        from ricordo.config.places import locate

        return locate(self.store, load_config(), current_folder(), self.tier).location.is_there

    def check_named_store(self, *, create: bool) -> None:
        """If ``--store`` names none that is there, its name may be misspelled: ask before one is made."""
        if self.store is None or os.path.exists(os.path.expanduser(self.store)) or self.has_store():  # noqa: PTH110, PTH111
            return
        from pathlib import Path

        from ricordo.config.declare import nearest
        from ricordo.errors import StoreError, UsageError

        place = Path(self.store).expanduser()
        beside = tuple(path.name for path in place.parent.glob("*"))
        near = " or ".join(str(place.with_name(name)) for name in nearest(place.name, beside, cutoff=0.7))
        hint = f"Did you mean --store {near}?" if near else "Check the name after --store."
        if not create:
            raise StoreError(f"there is no store at {self.store}", hint=hint)
        if self.json or not person_answers():
            return
        import click

        self.screen().note(f"there is no store at {self.store} yet{f'; there is {near}' if near else ''}")
        if not click.confirm("Make a new one there?", err=True):
            raise UsageError("nothing was made", hint=hint)

    def engine(self, *, create: bool = False, meaning: bool = False, storeless: bool = False) -> Ricordo:
        """The store's engine; verbs that only read do not make a store.

        ``meaning`` says that the query's vector will be asked for: the model loads while the engine is imported. With
        ``storeless``, no store is opened.
        """
        from ricordo.config.loading import ConfigProvider
        from ricordo.speaking import speak_as

        speak_as(said_at_terminal(os.environ))
        config = ConfigProvider({"search.profile": self.profile} if self.profile else None)
        if dropped := config().dropped:
            self.screen().note(f"settings that are gone are ignored: {', '.join(dropped)} (ricordo config list)")
        if self.profile:
            from ricordo.registry import profile

            profile(self.profile, config())  # an error if there is no such profile
        embedder = None
        if meaning and config().search.backend == "hybrid":
            from ricordo.registry import embedder_ahead

            embedder = embedder_ahead(config())
        from ricordo.engine.context import before_closing, store_notice
        from ricordo.engine.ricordo import Ricordo

        engine = Ricordo.open(
            self.store, config=config, create=create, tier=self.tier, embedder=embedder, storeless=storeless
        )
        before_closing(engine, lambda: self._last_work(engine, meaning=meaning))
        self.opened = engine
        if notice := store_notice(engine):
            self.screen().note(notice)
        return engine

    def _last_work(self, engine: Ricordo, *, meaning: bool) -> None:
        """When the answer is known: make the vectors of texts that this command took in, and of those that hooks left
        if the model is loaded anyway; and sync if something was changed.
        """
        from ricordo.engine.context import embed_waiting_texts, took_in_edits
        from ricordo.errors import Error
        from ricordo.plugin import ask

        with suppress(Error):  # the answer is complete without them; the texts stay in the backlog
            if left := embed_waiting_texts(engine) if meaning or took_in_edits(engine) else 0:
                what = "passage waits for its vector" if left == 1 else "passages wait for their vectors"
                self.screen().note(f"{left:,} {what}: 'ricordo embed' makes them")
        ask("work_done", engine)

    def answer(
        self,
        plain: object,
        draw: Callable[[Screen], None],
        *,
        exit_code: int = 0,
        error: Mapping[str, str] | None = None,
    ) -> int:
        """Print the result, as the envelope or by ``draw``, and hand back the exit code.

        ``error`` goes with an exit code other than 0 when there is a result all the same (some items failed).
        """
        spent = self._spent() if self.opened is not None else {}
        if self.json:
            added = {name: value.to_dict() for name, value in spent.items()}
            write_envelope(self, {**plain, **added} if added and isinstance(plain, Mapping) else plain, error)
        else:
            screen = self.screen()
            draw(screen)
            for value in spent.values():
                screen.note(str(value))
        return exit_code

    def _spent(self) -> Mapping[str, Any]:
        """What the answer cost, as plugins say it."""
        from ricordo.plugin import ask

        return {name: value for spent in ask("spent", self.opened) for name, value in spent.items()}


def write_envelope(call: Call, plain: object, error: Mapping[str, str] | None) -> None:
    """``{ok, command, data, error, ms}`` on standard output, in UTF-8, on one line."""
    import json

    envelope: dict[str, Any] = {
        "ok": error is None,
        "command": call.command,
        "data": plain,
        "error": dict(error) if error is not None else None,
        "ms": round((time.perf_counter() - call.started) * 1000, 3),
    }
    sys.stdout.write(json.dumps(envelope, ensure_ascii=False, default=str) + "\n")
