"""What can be set about words and languages."""

from __future__ import annotations

from typing import Any

from ricordo.config.rules import setting
from ricordo.frozen import frozen

HEAVIEST = 1000  # weights count relative to each other; much larger ones would overflow in a sum


LANGUAGES = (
    "arabic", "armenian", "basque", "catalan", "czech", "danish", "dutch", "dutch_porter", "english", "esperanto",
    "estonian", "finnish", "french", "german", "greek", "hindi", "hungarian", "indonesian", "irish", "italian",
    "lithuanian", "nepali", "norwegian", "persian", "polish", "porter", "portuguese", "romanian", "russian",
    "serbian", "sesotho", "spanish", "swedish", "tamil", "turkish", "yiddish", "none",
)  # fmt: skip
"""The stemmers of Snowball, and none. They are listed here because loading Snowball costs start-up time."""
SPOKEN = (
    "ar", "bg", "bn", "ca", "cs", "da", "de", "el", "en", "es", "fa", "fi", "fr", "he", "hi", "hu", "hy", "id", "it",
    "ja", "ka", "ko", "lo", "my", "km", "nl", "no", "pl", "pt", "ro", "ru", "sv", "ta", "th", "tr", "uk", "vi", "zh",
)  # fmt: skip
"""The languages that are recognised, by their codes; ``text/languages.py`` says more of each."""


def weight(default: float | None, doc: str) -> Any:
    """A setting that weighs something."""
    return setting(default, doc, minimum=0, maximum=HEAVIEST)


@frozen
class LexicalSettings:
    """How words are indexed and scored (BM25F)."""

    language: str = setting(
        "english", "Language of the words in stores that are made from now on; none does not stem.", choices=LANGUAGES
    )
    k1: float = setting(1.2, "How soon further repetitions of a word stop raising the score.", minimum=0, maximum=1000)
    b: float = setting(0.75, "How much long texts are discounted, 0 to 1.", minimum=0, maximum=1)
    title_weight: float = weight(3.3, "Weight of words in the title, relative to the body.")
    path_weight: float = weight(1.7, "Weight of words in the path.")
    description_weight: float = weight(1.0, "Weight of words in the description.")
    tags_weight: float = weight(0.67, "Weight of words in the tags.")
    context_weight: float = weight(0.33, "Weight of words in the context.")
    body_weight: float = weight(1.0, "Weight of words in the body.")


@frozen
class LanguageSettings:
    """The languages that you read and write."""

    mine: tuple[str, ...] = setting(
        (),
        "Codes such as de,en: questions in these languages find English texts by meaning, too (ricordo[multilingual]).",
        choices=tuple(SPOKEN),
    )
