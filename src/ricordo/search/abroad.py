"""Questions and passages in other languages: which model embeds a question, and what a reader should know about that.

The shipped model reads English. Passages in other languages have vectors of a second model, if the user installed one.
A question is embedded by the model that reads it; where passages have no vector of that one, by the other, too. Cosines
of both are on one scale (``QueryVector.comparable``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from ricordo.frozen import frozen
from ricordo.models.fingerprint import fingerprint_of
from ricordo.text.languages import LANGUAGES, language_of

if TYPE_CHECKING:
    from ricordo.models.base import Embedder
    from ricordo.store.base import Store

INSTALL = "pip install 'ricordo[multilingual]'"


@frozen
class SecondModel:
    """The model for other languages, made when it is asked for: None where none is installed or wanted."""

    embedder: Callable[[], Embedder | None] = lambda: None
    reach_out: Callable[[Store, str], None] = lambda store, language: None
    """Before a question in a language is answered: makes the vectors that a small store lacks for it."""
    offered: Callable[[], bool] = lambda: False
    """Whether one could be installed that would help."""


NO_SECOND = SecondModel()


@frozen
class Route:
    """By which models a question is embedded: whether by the second one first, and whether by both."""

    language: str = ""
    second_first: bool = False
    both: bool = False
    by_words: bool = False
    """Whether no model reads it."""
    notes: tuple[str, ...] = ()


def language_of_question(text: str) -> str:
    """The language of a question; "" for English, and where it cannot be told."""
    code = language_of(text, short=True)
    return "" if code == "en" else code


def unread_by(embedder: object) -> Collection[str]:
    """The languages that a model cannot read, as far as it says so."""
    found: Any = getattr(getattr(embedder, "embedder", embedder), "unread", ())
    return frozenset(found)


def route(store: Store, text: str, own: Embedder, second: SecondModel, languages: Collection[str]) -> Route:
    """How a question is embedded. In a store of English alone, an English question never asks for the second model."""
    spoken = language_of_question(text)
    unread = spoken in unread_by(own)
    if not spoken and not languages:
        return Route()
    other = second.embedder()
    if other is None:
        return Route(spoken, by_words=unread, notes=_offer(spoken, second, unread=unread))
    foreign: Collection[str] = getattr(getattr(other, "embedder", other), "languages", ())
    if spoken not in foreign:
        return Route(spoken, both=any(code in foreign for code in languages) and not unread, by_words=unread)
    counts = store.vectors.counts(fingerprint_of(other))
    lacking = counts["chunks"] - counts["embedded"]
    if not counts["embedded"]:
        return Route(spoken, by_words=unread, notes=(_how(spoken, lacking),) if lacking else ())
    notes = (_how(spoken, lacking),) if lacking and not counts["pending"] else ()
    return Route(spoken, second_first=True, both=bool(lacking) and not unread, notes=notes)


def _offer(spoken: str, second: SecondModel, *, unread: bool) -> tuple[str, ...]:
    if not spoken or not second.offered():
        return ()
    found = "so only words were looked for" if unread else "which it knows little of"
    return (
        f"this question seems to be in {LANGUAGES[spoken].name}, and the model reads English, {found}; {INSTALL},"
        " then 'ricordo embed', finds texts by meaning in sixteen languages",
    )


def _how(spoken: str, lacking: int) -> str:
    seconds = max(1, round(lacking * SECONDS_PER_PASSAGE))
    return (
        f"{lacking:,} passages have no vector that a question in {LANGUAGES[spoken].name} can be compared with;"
        f" 'ricordo config set language.mine {spoken},en', then 'ricordo embed', makes them (about {seconds:,} s)"
    )


SECONDS_PER_PASSAGE = 0.007
