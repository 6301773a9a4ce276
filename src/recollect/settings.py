"""What can be set: every section and setting with its type, default, bounds and one-line description.

This is the schema alone. It reads no file and no environment; ``config`` does that, and ``docs/config.md`` is
generated from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from recollect.errors import UsageError
from recollect.setting_rules import Setting, nearest, setting

_HEAVIEST = 1000  # weights count relative to one another; far larger ones overflow when they are summed


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
    seconds: float = setting(
        5.0, "How long a tier may take before the others answer without it.", minimum=0.01, maximum=3600
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


def unknown_setting(name: str) -> UsageError:
    """The error for a name nobody knows, with the nearest names there are."""
    if name.startswith("RECOLLECT_"):
        near = nearest(name, tuple(VARIABLES))
        return UsageError(f"unknown variable {name}", hint=f"Did you mean {' or '.join(near)}?")
    section, _, key = name.partition(".")
    inside = {known.key: full for full, known in SETTINGS.items() if known.section == section}
    if inside:
        near = [inside[one] for one in nearest(key, tuple(inside))]
        hint = f"Did you mean {' or '.join(near)}?" if near else f"[{section}] has: {', '.join(inside)}."
    else:
        near = nearest(name, tuple(SETTINGS)) or [full for full in SETTINGS if full.endswith(f".{name}")]
        hint = f"Did you mean {' or '.join(near)}?" if near else f"Sections are: {', '.join(SECTIONS)}."
    return UsageError(f"unknown setting '{name}'", hint=hint)
