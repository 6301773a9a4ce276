"""What can be set: every section and setting with its type, default, bounds and one-line description.

This is the schema alone. It reads no file and no environment; ``config`` does that, and ``docs/config.md`` is
generated from here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from recollect.errors import UsageError

_HEAVIEST = 1000  # weights count relative to one another; far larger ones overflow when they are summed
_LARGEST = 2**31 - 1  # what every library below takes as a count
_TRUE = ("true", "yes", "on", "1")
_FALSE = ("false", "no", "off", "0")
_TYPE_WORDS = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "tuple[str, ...]": "a list of texts",
}


def setting(
    default: Any,
    doc: str,
    *,
    sensitive: bool = False,
    secret: bool = False,
    is_path: bool = False,
    choices: tuple[str, ...] = (),
    aliases: Mapping[str, str] | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
) -> Any:
    """A dataclass field that carries what users and checks need to know about it.

    ``sensitive`` settings are not taken from a project file that is not trusted; ``secret`` ones are also
    never shown.
    """
    notes = {
        "doc": doc,
        "sensitive": sensitive or secret,
        "secret": secret,
        "is_path": is_path,
        "choices": choices,
        "aliases": dict(aliases or {}),
        "minimum": minimum,
        "maximum": maximum,
    }
    return field(default=default, metadata=notes, repr=not secret)


def _weight(default: float | None, doc: str) -> Any:
    return setting(default, doc, minimum=0, maximum=_HEAVIEST)


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Where items are kept, and for how long."""

    location: str | None = setting(
        None, "The store's file. Unset: the nearest project's, else the user's.", sensitive=True, is_path=True
    )
    keep_versions: int = setting(20, "How many versions of an item are kept.", minimum=1)
    bin_days: float = setting(30.0, "Days that a removed item can be restored.", minimum=0, maximum=36500)
    busy_seconds: float = setting(
        30.0, "How long a writer waits for another process.", minimum=0, maximum=3600
    )


@dataclass(frozen=True, slots=True)
class IngestSettings:
    """How files and pages become items."""

    max_file_mb: float = setting(50.0, "Larger files are skipped and reported.", minimum=0, maximum=1_000_000)
    chunker: str = setting(
        "structure",
        "How text is cut: by its structure, or by a model.",
        sensitive=True,
        choices=("structure", "llm"),
    )
    parse_seconds: float = setting(30.0, "How long reading one file may take.", minimum=0.1, maximum=3600)
    parse_memory_mb: int = setting(1024, "How much memory reading one file may take.", minimum=64)
    follow_symlinks: bool = setting(True, "Walk into linked folders (loops end).")


@dataclass(frozen=True, slots=True)
class LexicalSettings:
    """How words are indexed and scored (BM25F)."""

    language: str = setting("english", "Language of the stemmer, by its Snowball name.")
    k1: float = setting(1.2, "How soon repeating a word stops helping.", minimum=0, maximum=1000)
    b: float = setting(0.75, "How much long texts are discounted, 0 to 1.", minimum=0, maximum=1)
    title_weight: float = _weight(3.3, "Weight of words in the title, relative to the body.")
    path_weight: float = _weight(1.7, "Weight of words in the path.")
    description_weight: float = _weight(1.0, "Weight of words in the description.")
    tags_weight: float = _weight(0.67, "Weight of words in the tags.")
    context_weight: float = _weight(0.33, "Weight of words in the context.")
    body_weight: float = _weight(1.0, "Weight of words in the body.")


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """What a search does when the call does not say."""

    limit: int = setting(10, "How many hits are returned.", minimum=1)
    backend: str = setting(
        "hybrid",
        "Words and meaning, words alone, or plain substring.",
        choices=("hybrid", "lexical", "grep"),
        aliases={"fts5": "lexical"},
    )
    profile: str = setting("default", "How hits are ranked.")
    overfetch: int = setting(0, "Candidates per side; 0 leaves it to the profile.", minimum=0)
    min_score: float = setting(0.0, "Hits below this score are left out.", minimum=0, maximum=1)
    track: bool = setting(True, "Remember which items were found and opened.")


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """What turns text into vectors."""

    provider: str = setting("local", "Who computes vectors; none for words alone.", sensitive=True)
    model: str = setting("", "The provider's model; empty is its default.", sensitive=True)
    api_keys: tuple[str, ...] = setting(
        (), "Keys, used in turn; empty reads the provider's own variable.", secret=True
    )
    base_url: str = setting("", "Where the provider is reached; empty is its own address.", sensitive=True)
    batch_size: int = setting(0, "Texts per request; 0 is the provider's own.", minimum=0)
    input_type: str = setting("", "Sent to providers that tell queries from documents; empty is automatic.")
    dimensions: int = setting(0, "Length of a vector; 0 is the model's own.", minimum=0)
    fallback: str = setting("", "A second provider, under a fingerprint of its own.", sensitive=True)
    threads: int = setting(0, "Threads of the local model; 0 is one per core.", minimum=0)


@dataclass(frozen=True, slots=True)
class RetrievalSettings:
    """Weights of the profile ``brain``; unset ones keep the profile's own, and 0 means 0."""

    vector_weight: float | None = _weight(None, "Weight of meaning.")
    fts_weight: float | None = _weight(None, "Weight of words.")
    recency_weight: float | None = _weight(None, "Weight of recent change and use.")
    importance_weight: float | None = _weight(None, "Weight of importance.")


@dataclass(frozen=True, slots=True)
class KnowledgeSettings:
    """Memories, notes and articles as Markdown files, and the weights of the profile ``knowledge``."""

    enabled: bool = setting(True, "Keep memories, notes and articles as Markdown files.")
    folder: str | None = setting(
        None, "Where those files are. Unset: knowledge/ beside the store.", sensitive=True, is_path=True
    )
    hybrid_vector_weight: float | None = _weight(None, "Weight of meaning; unset keeps the profile's own.")
    hybrid_text_weight: float | None = _weight(None, "Weight of words; unset keeps the profile's own.")


@dataclass(frozen=True, slots=True)
class TiersSettings:
    """Stores that are searched together, and how much each one's scores count."""

    agent: str | None = setting(None, "The agent's own store.", sensitive=True, is_path=True)
    project: str | None = setting(None, "The project's store.", sensitive=True, is_path=True)
    team: str | None = setting(None, "The team's store.", sensitive=True, is_path=True)
    agent_weight: float = setting(
        1.0, "Factor of the agent tier.", sensitive=True, minimum=0, maximum=_HEAVIEST
    )
    project_weight: float = setting(
        0.8, "Factor of the project tier.", sensitive=True, minimum=0, maximum=_HEAVIEST
    )
    team_weight: float = setting(
        0.6, "Factor of the team tier.", sensitive=True, minimum=0, maximum=_HEAVIEST
    )


@dataclass(frozen=True, slots=True)
class UsageSettings:
    """The log of queries and of what they found; it stays in the store."""

    log: bool = setting(True, "Keep the log.")
    retention_days: float = setting(90.0, "Older entries are dropped.", minimum=0, maximum=36500)


@dataclass(frozen=True, slots=True)
class LearningSettings:
    """Weights that follow feedback."""

    enabled: bool = setting(True, "Let feedback move the weights.")
    frozen: bool = setting(False, "Keep what was learned, learn nothing more.")


@dataclass(frozen=True, slots=True)
class RerankSettings:
    """A second, slower look at the best hits."""

    kind: str = setting("none", "What looks again.", sensitive=True, choices=("none", "cross-encoder", "llm"))
    model: str = setting("", "Model name or path; empty is the kind's default.", sensitive=True)
    budget_ms: int = setting(500, "Past this time the first order is kept.", minimum=1)
    top: int = setting(20, "How many hits are looked at again.", minimum=1)


@dataclass(frozen=True, slots=True)
class Config:
    """All settings in force, and where each came from.

    ``sources`` holds ``flag``, ``env:NAME``, ``project:FILE`` or ``user:FILE`` for every setting that was
    given; ``untrusted`` names the settings of a project file that were ignored because nobody trusted it yet.

    >>> Config().search.limit
    10
    """

    store: StoreSettings = StoreSettings()
    ingest: IngestSettings = IngestSettings()
    lexical: LexicalSettings = LexicalSettings()
    search: SearchSettings = SearchSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    knowledge: KnowledgeSettings = KnowledgeSettings()
    tiers: TiersSettings = TiersSettings()
    usage: UsageSettings = UsageSettings()
    learning: LearningSettings = LearningSettings()
    rerank: RerankSettings = RerankSettings()
    profiles: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    untrusted: tuple[str, ...] = field(default=(), compare=False)
    sources: Mapping[str, str] = field(default_factory=dict, compare=False)

    def get(self, name: str) -> Any:
        """The value of ``section.name``; an unknown name is a usage error that offers near ones."""
        found = find_setting(name)
        return getattr(getattr(self, found.section), found.key)

    def source(self, name: str) -> str:
        return self.sources.get(find_setting(name).name, "default")

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """``{section: {setting: value}}`` with secrets masked and profiles as they were written."""
        plain: dict[str, dict[str, Any]] = {}
        for known in SETTINGS.values():
            plain.setdefault(known.section, {})[known.key] = known.shown(self.get(known.name))
        plain["profiles"] = {name: dict(table) for name, table in self.profiles.items()}
        return plain


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its name, type and bounds, and how a value for it is checked and read from text."""

    section: str
    key: str
    type: str
    default: Any
    doc: str
    sensitive: bool
    secret: bool
    is_path: bool
    choices: tuple[str, ...]
    aliases: Mapping[str, str]
    minimum: float | None
    maximum: float | None

    @property
    def name(self) -> str:
        return f"{self.section}.{self.key}"

    @property
    def variable(self) -> str:
        return f"RECOLLECT_{self.section}_{self.key}".upper()

    @property
    def base_type(self) -> str:
        """The type without ``| None``: unset is the absence of a value, never a value one can write."""
        return self.type.removesuffix(" | None")

    def shown(self, value: Any) -> Any:
        """The value as it may be printed: secrets masked, lists as lists."""
        if self.secret:
            return ["***" for _ in value] if isinstance(value, tuple) else "***"
        return list(value) if isinstance(value, tuple) else value

    def read(self, text: str) -> Any:
        """The value that a piece of text (a variable, a flag, ``config set``) stands for."""
        text = text.strip()
        kind = self.base_type
        if kind == "bool" and text.lower() in _TRUE + _FALSE:
            return text.lower() in _TRUE
        if kind == "tuple[str, ...]":
            return self.check([part.strip() for part in text.split(",") if part.strip()])
        if kind in ("int", "float"):
            try:
                return self.check(int(text) if kind == "int" else float(text))
            except ValueError:
                raise self._refuse(text, f"Give {_TYPE_WORDS[kind]}.") from None
        return self.check(text)

    def check(self, value: Any) -> Any:
        """The value in the form the section holds, or a usage error that says what is allowed."""
        kind = self.base_type
        if isinstance(value, int) and abs(value) > _LARGEST:
            raise self._refuse(value, f"Allowed: at most {_LARGEST}.")
        if kind == "float" and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if kind == "tuple[str, ...]" and isinstance(value, (list, tuple)):
            value = tuple(value)
        expected = {"bool": bool, "int": int, "float": float, "str": str}.get(kind, tuple)
        wrong = not isinstance(value, expected) or (expected is int and isinstance(value, bool))
        if wrong or (isinstance(value, tuple) and not all(isinstance(part, str) for part in value)):
            raise self._refuse(value, f"Give {_TYPE_WORDS[kind]}.")
        if isinstance(value, str):
            return self._checked_text(value)
        if isinstance(value, (int, float)) and expected is not bool:
            self._check_bounds(value)
        return value

    def _checked_text(self, value: str) -> str:
        if "\x00" in value:
            raise self._refuse(value, "Remove the NUL character.")
        if self.type.endswith("| None") and not value.strip():
            raise self._refuse(value, f"To go back to the default, use: recollect config unset {self.name}")
        value = self.aliases.get(value, value)
        if self.choices and value not in self.choices:
            near = _nearest(value, (*self.choices, *self.aliases))
            offer = f"Did you mean {near[0]}? " if near else ""
            raise self._refuse(value, f"{offer}One of: {', '.join(self.choices)}.")
        return value

    def _check_bounds(self, value: float) -> None:
        low, high = self.minimum, self.maximum
        too_low = low is not None and value < low
        too_high = high is not None and value > high
        if too_low or too_high or not math.isfinite(value):
            allowed = "any finite number"
            if low is not None:
                allowed = f"from {low:g} to {high:g}" if high is not None else f"{low:g} or more"
            raise self._refuse(value, f"Allowed: {allowed}.")

    def _refuse(self, value: Any, hint: str) -> UsageError:
        shown = "this value" if self.secret else repr(value)
        return UsageError(f"{self.name} cannot be {shown}", hint=hint)


def _settings() -> dict[str, Setting]:
    found = {}
    for section in fields(Config):
        defaults: Any = section.default
        if not is_dataclass(defaults):
            continue
        for one in fields(defaults):
            known = Setting(section.name, one.name, str(one.type), one.default, **one.metadata)
            found[known.name] = known
    return found


SETTINGS: Mapping[str, Setting] = _settings()
SECTIONS: tuple[str, ...] = tuple(dict.fromkeys(known.section for known in SETTINGS.values()))
VARIABLES: Mapping[str, Setting] = {
    **{known.variable: known for known in SETTINGS.values()},
    "RECOLLECT_STORE": SETTINGS["store.location"],
}
FOREIGN_VARIABLES: Mapping[str, Setting] = {
    "CO_KNOWLEDGE_SEARCH_BACKEND": SETTINGS["search.backend"],
    "CO_KNOWLEDGE_EMBEDDING_PROVIDER": SETTINGS["embedding.provider"],
    "CO_KNOWLEDGE_EMBEDDING_MODEL": SETTINGS["embedding.model"],
}


def find_setting(name: str) -> Setting:
    """The setting by that name; dashes count as underscores."""
    known = SETTINGS.get(name.strip().replace("-", "_"))
    if known is None:
        raise unknown_setting(name)
    return known


def unknown_setting(name: str, *, spelled: str = "", among: Mapping[str, Setting] = SETTINGS) -> UsageError:
    """The error for a name nobody knows, with the nearest names; ``spelled`` is how the user wrote it."""
    near = _nearest(name, tuple(among)) or [full for full in among if full.endswith(f".{name}")]
    section = name.partition(".")[0]
    if not near and section in SECTIONS:
        near = [full for full in among if full.startswith(f"{section}.")]
    hint = f"Did you mean {' or '.join(near[:3])}?" if near else f"Sections are: {', '.join(SECTIONS)}."
    return UsageError(f"unknown setting '{spelled or name}'", hint=hint)


def _nearest(name: str, known: tuple[str, ...]) -> list[str]:
    from difflib import get_close_matches  # only when something is misspelled

    return get_close_matches(name, known, n=3, cutoff=0.6)
