"""A second model, for texts and questions in other languages than English."""

from ricordo.config.declare import setting
from ricordo.frozen import frozen
from ricordo.plugin import Plugin

SPOKEN = (
    "ar", "bg", "bn", "ca", "cs", "da", "de", "el", "en", "es", "fa", "fi", "fr", "he", "hi", "hu", "hy", "id", "it",
    "ja", "ka", "ko", "lo", "my", "km", "nl", "no", "pl", "pt", "ro", "ru", "sv", "ta", "th", "tr", "uk", "vi", "zh",
)  # fmt: skip
"""The languages that are recognised, by their codes; ``text/languages.py`` says more of each."""


@frozen
class LanguageSettings:
    """The languages that you read and write."""

    mine: tuple[str, ...] = setting(
        (),
        "Codes such as de,en: questions in these languages find English texts by meaning, too (ricordo[multilingual]).",
        choices=SPOKEN,
    )


PLUGIN = Plugin(
    __name__,
    "Finds texts by meaning in sixteen languages, with a second model.",
    settings={"language": LanguageSettings},
    second_model="second_model:Multilingual",
    checks={"other languages": "second_model:check"},
    on={"status": "second_model:add_status", "store_made": "second_model:note_of_locale"},
)
