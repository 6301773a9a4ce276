"""The public surface of ``Ricordo``: programs call it, so a changed name or signature must be a deliberate act.

``engine_surface.txt`` holds the name, parameters and defaults of every public attribute. Whoever changes the surface on
purpose changes that file in the same commit, and says in CHANGELOG.md what callers must do.
"""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from ricordo import Ricordo

RECORDED = Path(__file__).with_name("engine_surface.txt")


def public_surface(engine: Ricordo) -> list[str]:
    lines = []
    for name in dir(engine):
        if name.startswith("_"):
            continue
        on_class = getattr(Ricordo, name, None)
        lines.append(f"{name} {untyped(inspect.signature(on_class)) if callable(on_class) else 'attribute'}")
    return lines


def untyped(signature: inspect.Signature) -> inspect.Signature:
    """Names, order and defaults; the types carry what faces say about parameters, and mypy checks them."""
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in signature.parameters.values()]
    return signature.replace(parameters=plain, return_annotation=inspect.Signature.empty)


def test_the_public_surface_of_the_engine_is_the_recorded_one(engine: Ricordo) -> None:
    assert public_surface(engine) == RECORDED.read_text(encoding="utf-8").splitlines()


def test_every_public_verb_says_what_it_does() -> None:
    silent = [name for name in dir(Ricordo) if not name.startswith("_") and not inspect.getdoc(getattr(Ricordo, name))]
    assert silent == []


def test_whoever_makes_an_engine_from_a_path_is_told_how_a_store_is_opened() -> None:
    with pytest.raises(TypeError, match=r"Ricordo\.open\(PATH\)"):
        Ricordo("memory.db")  # type: ignore[arg-type]
