"""What can be set: every section and setting of the core, and with them those of plugins.

``declare`` says how one is declared; ``loading`` reads files and environment. ``docs/config.md`` is generated from this
module. What nobody should turn is no setting but a constant where it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, field, replace
from typing import Any, TypeVar

from ricordo.config.declare import HEAVIEST, Setting, nearest, setting, weight
from ricordo.errors import UsageError
from ricordo.frozen import declared, frozen, is_frozen
from ricordo.plugin import installed, names_of

T = TypeVar("T")

LANGUAGES = (
    "arabic", "armenian", "basque", "catalan", "czech", "danish", "dutch", "dutch_porter", "english", "esperanto",
    "estonian", "finnish", "french", "german", "greek", "hindi", "hungarian", "indonesian", "irish", "italian",
    "lithuanian", "nepali", "norwegian", "persian", "polish", "porter", "portuguese", "romanian", "russian",
    "serbian", "sesotho", "spanish", "swedish", "tamil", "turkish", "yiddish", "none",
)  # fmt: skip
"""The stemmers of Snowball, and none. They are listed here because loading Snowball costs start-up time."""


@frozen
class LexicalSettings:
    """How words are indexed and scored (BM25F)."""

    language: str = setting(
        "english",
        "Language of the words in stores that are made from now on; none does not stem.",
        choices=LANGUAGES,
        basic=True,
        harmless=True,
    )


@frozen
class StoreSettings:
    """Where items are kept, and for how long."""

    location: str | None = setting(
        None, "The store's file. Unset: the nearest project's, else the user's.", is_path=True, basic=True
    )
    keep_versions: int = setting(20, "How many versions of an item are kept.", minimum=1)
    bin_days: float = setting(30.0, "Days that a removed item can be restored.", minimum=0, maximum=36500)


@frozen
class IngestSettings:
    """How files and pages become items."""

    max_file_mb: float = setting(50.0, "Larger files are skipped and reported.", minimum=0, maximum=1_000_000)
    chunker: str = setting(
        "structure", "How text is cut: by its structure, or by a model.", choices=("structure", *names_of("chunkers"))
    )
    ignore: tuple[str, ...] = setting(
        (
            "node_modules/", "bower_components/", "venv/", "site-packages/", "__pycache__/",
            "dist/", "*.egg-info/", "*.pyc", "*.lock", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml",
            "*.lockfile", "go.sum", "*.min.js", "*.min.css", "*.js.map", "*.css.map",
            "*.woff", "*.woff2", "*.ttf", "*.otf", "*.eot",
        ),
        "Left out of folders, as in a .gitignore; a line such as !dist/ in an ignore file takes it in again.",
    )  # fmt: skip
    keep_binaries: bool = setting(
        False, "Keep the bytes of files without text in the store; else name, type and size are kept.", harmless=True
    )
    follow_symlinks: bool = setting(False, "Follow links that lead out of an added folder (loops end).")


@frozen
class SearchSettings:
    """What a search does when the call does not say."""

    limit: int = setting(10, "How many hits are returned.", minimum=1, basic=True, harmless=True)
    backend: str = setting(
        "hybrid",
        "Words and meaning, words alone, or plain substring.",
        choices=("hybrid", "lexical", "grep"),
        aliases={"fts5": "lexical"},
        basic=True,
    )
    profile: str = setting("default", "How hits are ranked.", basic=True)
    min_fit: float = setting(0.5, "Context, skills and tools leave out what fits less.", minimum=0, maximum=1)


@frozen
class EmbeddingSettings:
    """What turns text into vectors."""

    provider: str = setting("local", "Who computes vectors; none for words alone.", basic=True)
    model: str = setting("", "The provider's model; empty is its default.", basic=True)
    api_keys: tuple[str, ...] = setting(
        (),
        "Keys, used in turn; empty reads the provider's own variable, then llm.api_keys of the same provider.",
        secret=True,
        basic=True,
    )
    base_url: str = setting("", "Where the provider is reached; empty is its own address.")
    batch_size: int = setting(0, "Texts per request; 0 is the provider's own.", minimum=0)
    input_type: str = setting("", "Sent to providers that tell queries from documents; empty is automatic.")
    dimensions: int = setting(0, "Length of a vector; 0 is the model's own.", minimum=0)
    fallback: str = setting("", "A second provider, under a fingerprint of its own.")
    folder: str | None = None
    """Where models from a hub are kept: beside the store, which the engine knows; it cannot be set."""


@frozen
class RetrievalSettings:
    """Weights of the profile ``brain``; unset ones keep the profile's own, and 0 means 0."""

    vector_weight: float | None = weight(None, "Weight of meaning.")
    fts_weight: float | None = weight(None, "Weight of words.")
    recency_weight: float | None = weight(None, "Weight of recent change and use.")
    importance_weight: float | None = weight(None, "Weight of importance.")


@frozen
class KnowledgeSettings:
    """Memories, notes and articles as Markdown files, and the weights of the profile ``knowledge``."""

    enabled: bool = setting(True, "Keep memories, notes and articles as Markdown files.", basic=True)
    folder: str | None = setting(
        None, "Where those files are. Unset: knowledge/ beside the store.", is_path=True, basic=True
    )
    of_programs: bool = setting(True, "Also read the notes of agents' programs, such as CLAUDE.md.", basic=True)
    hybrid_vector_weight: float | None = weight(None, "Weight of meaning; unset keeps the profile's own.")
    hybrid_text_weight: float | None = weight(None, "Weight of words; unset keeps the profile's own.")


@frozen
class TiersSettings:
    """Stores that are searched together, and how much each one's scores count."""

    agent: str | None = setting(None, "The agent's own store.", is_path=True, basic=True)
    project: str | None = setting(None, "The project's store.", is_path=True, basic=True)
    team: str | None = setting(None, "The team's store.", is_path=True, basic=True)
    agent_weight: float = setting(1.0, "Factor of the agent tier.", minimum=0, maximum=HEAVIEST)
    project_weight: float = setting(0.8, "Factor of the project tier.", minimum=0, maximum=HEAVIEST)
    team_weight: float = setting(0.6, "Factor of the team tier.", minimum=0, maximum=HEAVIEST)
    automatic: bool = setting(True, "In a project, search the user's own store, too, unless tiers.agent names another.")


@frozen
class UsageSettings:
    """The log of queries and of what they found; it stays in the store, for 90 days."""

    log: bool = setting(True, "Keep the log.", basic=True)


@frozen
class RerankSettings:
    """Ranking the best hits a second time, with a slower method."""

    kind: str = setting("none", "What ranks them again: none, cross-encoder, llm, or a plugin's name.", basic=True)
    model: str = setting("", "Model name or path; empty is the kind's default.")


@frozen
class MemorySettings:
    """What becomes of what sessions teach."""

    capture: str = setting(
        "propose",
        "What sessions teach: off finds nothing, propose lets it wait for review, accept keeps it by itself.",
        choices=("off", "propose", "accept"),
    )


@frozen
class HooksSettings:
    """What ``ricordo hook`` gives to an agent's program while it runs."""

    enabled: bool = setting(True, "Let hooks answer; if off, they answer nothing.", basic=True)
    seconds: float = setting(
        2.0,
        "After this time a hook prints the answer it has; if it has none, it uses all the time its program allows.",
        minimum=0.1,
        maximum=60,
    )
    budget: int = setting(
        600,
        "Tokens given with a prompt, or to an agent that starts with a task; a new session is given 5/3 of it.",
        minimum=0,
        maximum=100_000,
    )
    min_fit: float = setting(0.8, "What fits less is not given with a prompt.", minimum=0, maximum=1)
    transcripts: bool = setting(True, "Take in the transcript before it is compacted and when its session ends.")

    @property
    def start_budget(self) -> int:
        """Tokens given to a new session."""
        return self.budget * 5 // 3


@frozen
class McpSettings:
    """The server that agents call, ``ricordo mcp``."""

    seconds: float = setting(30.0, "How long one call may take.", minimum=0.1, maximum=3600)


@frozen
class ServeSettings:
    """The server of the page and the API, ``ricordo serve``."""

    host: str = setting("127.0.0.1", "Where to listen; an address that others can reach needs a token.", basic=True)
    port: int = setting(8610, "The port; 0 takes a free one.", minimum=0, maximum=65535, basic=True)
    names: tuple[str, ...] = setting((), "Other host names under which the server may be reached.")
    watch: bool = setting(True, "Follow the folders that were added, and take in what changes.")


def _extended(name: str, section: type[T]) -> T:
    """A section of the core, with what plugins add to it."""
    for plugin in installed().values():
        if name in plugin.settings:
            added = declared(plugin.settings[name])
            types = {key: kind for key, (kind, _) in added.items()}
            defaults = {key: default for key, (_, default) in added.items()}
            body = {"__doc__": section.__doc__, "__annotations__": types, **defaults}
            section = frozen(type(section.__name__, (section,), body))
    return section()


_EXTENDED = ("store",)
"""The sections of the core to which plugins add."""
_OF_PLUGINS = {
    name: section()
    for plugin in installed().values()
    for name, section in plugin.settings.items()
    if name not in _EXTENDED
}


@frozen
class Config:
    """All settings in force, and where each came from.

    ``sources`` holds ``flag``, ``env:NAME``, ``project:FILE`` or ``user:FILE`` for every setting that was
    given; ``untrusted`` names the settings of a project file that were ignored because nobody trusted it yet, and
    ``problems`` says what is wrong in such a file;
    ``dropped`` names those of earlier versions, and sections of plugins that are not installed, which are ignored, too.

    >>> Config().search.limit
    10
    """

    store: StoreSettings = _extended("store", StoreSettings)
    ingest: IngestSettings = IngestSettings()
    lexical: LexicalSettings = LexicalSettings()
    search: SearchSettings = SearchSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    knowledge: KnowledgeSettings = KnowledgeSettings()
    tiers: TiersSettings = TiersSettings()
    usage: UsageSettings = UsageSettings()
    rerank: RerankSettings = RerankSettings()
    memory: MemorySettings = MemorySettings()
    hooks: HooksSettings = HooksSettings()
    mcp: McpSettings = McpSettings()
    serve: ServeSettings = ServeSettings()
    of_plugins: Mapping[str, Any] = field(default_factory=lambda: dict(_OF_PLUGINS))
    """The sections that plugins bring, by name; each is an attribute, too: ``config.tools``."""
    profiles: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    untrusted: tuple[str, ...] = field(default=(), compare=False)
    problems: tuple[str, ...] = field(default=(), compare=False)
    dropped: tuple[str, ...] = field(default=(), compare=False)
    sources: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __getattr__(self, name: str) -> Any:
        if name in _OF_PLUGINS:
            return self.of_plugins[name]
        raise AttributeError(f"there is no section '{name}' of the settings")

    def with_section(self, name: str, section: Any) -> Config:
        if name in _OF_PLUGINS:
            return replace(self, of_plugins={**self.of_plugins, name: section})
        return replace(self, **{name: section})

    def get(self, name: str) -> Any:
        """The value of ``section.name``; an unknown name is a usage error that offers near ones."""
        row = find_setting(name)
        return getattr(getattr(self, row.section), row.key)

    def source(self, name: str) -> str:
        return self.sources.get(find_setting(name).name, "default")

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """``{section: {setting: value}}`` with secrets masked and profiles as they were written."""
        plain: dict[str, dict[str, Any]] = {}
        for row in SETTINGS.values():
            plain.setdefault(row.section, {})[row.key] = row.shown(self.get(row.name))
        plain["profiles"] = {name: dict(table) for name, table in self.profiles.items()}
        return plain


def _settings() -> dict[str, Setting]:
    sections = {name: section for name, (_, section) in declared(Config).items() if is_frozen(section)}
    settings = {}
    for name, section in (sections | _OF_PLUGINS).items():
        for key, (kind, made) in declared(type(section)).items():
            if isinstance(made, Field) and made.metadata:
                row = Setting(name, key, kind, made.default, **made.metadata)
                settings[row.name] = row
    return settings


SETTINGS: Mapping[str, Setting] = _settings()
SECTIONS: tuple[str, ...] = tuple(dict.fromkeys(known.section for known in SETTINGS.values()))
VARIABLES: Mapping[str, Setting] = {
    **{known.variable: known for known in SETTINGS.values()},
    "RICORDO_STORE": SETTINGS["store.location"],
}
FOREIGN_VARIABLES: Mapping[str, Setting] = {
    "CO_KNOWLEDGE_SEARCH_BACKEND": SETTINGS["search.backend"],
    "CO_KNOWLEDGE_EMBEDDING_PROVIDER": SETTINGS["embedding.provider"],
    "CO_KNOWLEDGE_EMBEDDING_MODEL": SETTINGS["embedding.model"],
}


_DROPPED = (
    (
        "memory.ask_agent memory.model_tokens_per_day memory.model_dollars_per_day",
        "Agents save what they learn with remember; patterns and review find the rest.",
    ),
    ("llm.input_price llm.output_price", "What an answer cost is counted for models whose price is known."),
    (
        "ingest.chunker_seconds ingest.parse_seconds ingest.parse_memory_mb search.pattern_seconds embedding.seconds"
        " llm.seconds llm.max_tokens rerank.budget_ms rerank.llm_budget_ms rerank.top fetch.connect_seconds fetch.delay"
        " fetch.max_mb"
        " skills.command_seconds tools.max_chars tools.suggested serve.seconds serve.request_seconds serve.max_body_mb"
        " serve.requests_per_minute store.busy_seconds tiers.seconds usage.retention_days",
        "The limit is fixed now.",
    ),
    (
        "lexical.k1 lexical.b lexical.title_weight lexical.path_weight lexical.description_weight lexical.tags_weight"
        " lexical.context_weight lexical.body_weight search.overfetch",
        "The constants of the keyword score are fixed now; a profile of your own weighs words and meaning.",
    ),
    (
        "fetch.github_url fetch.github_raw_url fetch.github_api_url fetch.google_docs_url",
        "The addresses of GitHub and Google Docs are fixed now.",
    ),
    ("fetch.github_token", "Set the variable GITHUB_TOKEN."),
    ("fetch.max_pages", "Give it with add: ‹max_pages›."),
    ("skills.workspace skills.user skills.system", "Name other folders: ‹:skills add FOLDER›."),
    ("learning.enabled learning.frozen", "Use ‹:learn freeze› or ‹:learn rollback›."),
    ("loading.mcp_file loading.turns loading.seconds", "Servers come from mcp.json beside your settings."),
    ("hooks.session_start_budget hooks.prompt_budget hooks.agent_budget", "Set hooks.budget instead."),
    ("hooks.capture", "Set memory.capture to off instead."),
    ("search.min_score", "Give it with a search: ‹min_score›."),
    ("search.track", "Give it with a search: ‹track›; usage.log switches the log off."),
    ("embedding.threads", "The model uses the cores there are."),
    ("embedding.folder", "Models from a hub are kept in models/ beside the store."),
    ("serve.commands", "Commands run alone."),
    ("mcp.token", "Make a token of the server: ‹:serve tokens add›."),
    ("store.index", "Set store.index_address alone; empty is the store's own index."),
    ("store.index_key_env", "Qdrant's key is in QDRANT_API_KEY."),
    ("store.index_shards store.index_replicas", "Qdrant decides by its own settings."),
)
DROPPED: Mapping[str, str] = {name: sentence for names, sentence in _DROPPED for name in names.split()}
"""Settings of earlier versions, and what to do instead: where they are still set, they are ignored and named once."""
DROPPED_VARIABLES = {f"RICORDO_{name.replace('.', '_').upper()}": name for name in DROPPED}


def find_setting(name: str) -> Setting:
    """The setting by that name; dashes count as underscores."""
    row = SETTINGS.get(name.strip().replace("-", "_"))
    if row is None:
        raise unknown_setting(name)
    return row


def unknown_setting(name: str) -> UsageError:
    """The error for an unknown name, with the nearest names that exist."""
    if name.startswith("RICORDO_"):
        near = nearest(name, tuple(VARIABLES))
        return UsageError(f"unknown variable {name}", hint=f"Did you mean {' or '.join(near)}?")
    name = name.strip().replace("-", "_")
    if name in DROPPED:
        return UsageError(f"there is no setting '{name}' any more", hint=DROPPED[name])
    section, _, key = name.partition(".")
    inside = {row.key: full for full, row in SETTINGS.items() if row.section == section}
    if inside:
        near = [inside[similar] for similar in nearest(key, tuple(inside))]
        hint = f"Did you mean {' or '.join(near)}?" if near else f"[{section}] has: {', '.join(inside)}."
    else:
        near = nearest(name, tuple(SETTINGS)) or [full for full in SETTINGS if full.endswith(f".{name}")]
        hint = f"Did you mean {' or '.join(near)}?" if near else f"Sections are: {', '.join(SECTIONS)}."
    return UsageError(f"unknown setting '{name}'", hint=hint)
