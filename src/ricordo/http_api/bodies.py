"""What may be asked: the parameters of the API's verbs, with their bounds and examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from ricordo.values.days import parse_time
from ricordo.values.hits import Filters

Limit = Annotated[int, Field(ge=1, le=1000, description="How many at most.")]
Offset = Annotated[int, Field(ge=0, le=1_000_000, description="How many to leave out first.")]
Ref = Annotated[str, Field(min_length=1, max_length=4096, description="A ref, an item's id, or a URL.")]
RefParameter = Annotated[
    str, Query(min_length=1, max_length=4096, description="A ref, an item's id, or a URL.", examples=["note:/keys"])
]
Text = Annotated[str, Field(max_length=20_000_000)]
Short = Annotated[str, Field(max_length=100_000)]
Names = Annotated[list[Annotated[str, Field(max_length=1000)]], Field(max_length=100)]
WaitParameter = Annotated[
    float, Query(ge=0, le=25, description="Wait up to this many seconds for the task to end before answering.")
]


class Parameters(BaseModel):
    """Unknown names are refused, because they are mostly misspelt."""

    model_config = ConfigDict(extra="forbid")


class FilterParameters(Parameters):
    """Conditions on items, applied before the best are picked. Repeat a parameter to allow several values."""

    kind: Names = Field(default=[], description="Only this kind.", examples=[["memory"]])
    tag: Names = Field(default=[], description="Only items with one of these tags.")
    all_tags: Names = Field(default=[], description="Only items with every one of these tags.")
    drive: Names = Field(default=[], description="Only this drive.")
    path: Names = Field(default=[], description="Only paths that start so or match this glob.")
    category: Names = []
    domain: Names = []
    severity: list[Literal["critical", "warning", "suggestion"]] = []
    importance: int | None = Field(default=None, ge=1, le=5, description="As important as this, or more.")
    thread: Names = []
    tier: Names = []
    after: str | None = Field(default=None, max_length=40, description="Changed on or after this date.")
    before: str | None = Field(default=None, max_length=40, description="Changed before this date.")

    def filters(self) -> Filters:
        """The conditions as the engine takes them."""
        return Filters(
            kinds=tuple(self.kind),
            tags_any=tuple(self.tag),
            tags_all=tuple(self.all_tags),
            categories=tuple(self.category),
            domains=tuple(self.domain),
            severities=tuple(self.severity),
            drives=tuple(self.drive),
            paths=tuple(self.path),
            threads=tuple(self.thread),
            tiers=tuple(self.tier),
            importance_min=self.importance,
            after=parse_time(self.after) if self.after else None,
            before=parse_time(self.before) if self.before else None,
        )


class ListParameters(FilterParameters):
    """Which items, and which page of them."""

    limit: Limit = 50
    offset: Offset = 0


class SemanticParameters(FilterParameters):
    """A query by meaning alone."""

    q: Short = Field(description="What to look for, in plain words.", examples=["how are tokens validated?"])
    limit: Limit = 10
    offset: Offset = 0
    min_score: float | None = Field(default=None, ge=0, le=1)
    as_of: str | None = Field(default=None, max_length=40, description="Search what was current then.")
    explain: bool = Field(default=False, description="Say why each hit has its rank.")
    track: bool | None = Field(default=None, description="Record what was found; if not given, the setting decides.")


class SearchParameters(SemanticParameters):
    """A query, and how it is to be answered."""

    q: Short = Field(
        default="",
        description='What to look for: plain words, "phrases", -words, prefix*, kind: tag: path: and other filters. '
        "Empty lists the newest.",
        examples=["how are tokens validated?", "kind:memory keys"],
    )
    mode: Literal["scan", "full"] = Field(default="scan", description="Full adds the whole items.")
    lexical: bool = Field(default=True, description="Use words.")
    vectors: bool = Field(default=True, description="Use meaning.")
    profile: str | None = Field(default=None, max_length=100, description="Rank with this profile.")
    weights: str = Field(default="", max_length=1000, description="Other weights: vector=0.5,recency=0.")
    literal: bool = Field(default=False, description="Take the text as plain words, without operators.")
    backend: Literal["hybrid", "lexical", "fts5", "grep"] | None = None
    boost_tags: Names = []
    boost_domain: str | None = Field(default=None, max_length=1000)
    diverse: bool = Field(default=False, description="Prefer hits that differ from one another.")
    rerank: Literal["none", "cross-encoder", "llm"] | None = None
    memories: bool = Field(default=False, description="Search memories and sessions separately (profile vault).")

    def options(self) -> dict[str, Any]:
        """The arguments of ``Ricordo.search`` besides the query."""
        same = (
            "limit", "offset", "min_score", "as_of", "explain", "track", "mode", "lexical", "vectors", "profile",
            "literal", "backend", "boost_tags", "boost_domain", "diverse", "rerank", "memories",
        )  # fmt: skip
        given = {name: getattr(self, name) for name in same}
        return given | {"filters": self.filters(), "weights": weights_from(self.weights)}


def weights_from(text: str) -> dict[str, float]:
    """``vector=0.5,recency=0`` as a mapping."""
    from ricordo.errors import UsageError

    weights = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.partition("=")
        try:
            weights[name.strip()] = float(value)
        except ValueError:
            equals = ""
        if not equals:
            raise UsageError(f"'{part}' is not a weight", hint="Write vector=0.5,recency=0.")
    return weights


class GrepParameters(Parameters):
    """A regular expression over stored text."""

    pattern: str = Field(min_length=1, max_length=10_000, examples=["retry.*backoff"])
    context: int = Field(default=0, ge=0, le=50, description="Lines before and after each match.")
    glob: Names = []
    drive: Names = []
    ignore_case: bool = False
    fixed: bool = Field(default=False, description="The pattern is plain text.")
    limit: Limit = 100


class RememberBody(Parameters):
    """A text worth knowing."""

    text: Text = Field(min_length=1, examples=["Rotate the signing keys every quarter."])
    kind: Literal["memory", "note", "entity", "resource", "entry"] = "memory"
    ref: str | None = Field(default=None, max_length=4096)
    on_duplicate: Literal["save", "skip", "merge", "supersede"] | None = None
    source: Literal["user", "agent"] = "user"
    allow_secrets: bool = False
    title: str | None = Field(default=None, max_length=1000)
    description: str | None = Field(default=None, max_length=10_000)
    tags: Names | None = None
    category: str | None = Field(default=None, max_length=1000)
    domain: str | None = Field(default=None, max_length=1000)
    severity: Literal["critical", "warning", "suggestion"] | None = None
    importance: int | None = Field(default=None, ge=1, le=5)
    context: str | None = Field(default=None, max_length=10_000)
    valid_from: str | None = Field(default=None, max_length=40)
    valid_until: str | None = Field(default=None, max_length=40)
    loading: Literal["always", "contextual"] | None = None

    def fields(self) -> dict[str, Any]:
        """The fields of the item that were given."""
        names = (
            "title", "description", "tags", "category", "domain", "severity", "importance", "context", "valid_from",
            "valid_until", "loading",
        )  # fmt: skip
        return {name: value for name in names if (value := getattr(self, name)) is not None}


class CorrectBody(Parameters):
    """A correct text that replaces an item."""

    ref: Ref = Field(examples=["memory:/keys"])
    text: Text = Field(min_length=1, examples=["Rotate the signing keys every month."])
    allow_secrets: bool = False


class SaveBody(Parameters):
    """One text under a ref."""

    ref: Ref = Field(examples=["note:/keys"])
    content: Text = Field(examples=["Rotate the signing keys every quarter."])
    kind: str | None = Field(default=None, max_length=40)
    fields: Mapping[str, Any] = Field(default={}, examples=[{"title": "Keys", "tags": ["security"]}])
    on_conflict: Literal["skip", "overwrite", "error"] = "error"
    allow_secrets: bool = False


class EditBody(Parameters):
    """A change of an item's text, its fields, or both."""

    ref: Ref = Field(examples=["note:/keys"])
    content: Text | None = Field(default=None, examples=["Rotate the signing keys every month."])
    fields: Mapping[str, Any] | None = Field(default=None, examples=[{"title": "Keys"}])
    base: int | None = Field(default=None, ge=1, le=2**31, description="The version that the change was made on.")
    allow_secrets: bool = False


class MoveBody(Parameters):
    """Another ref for an item."""

    ref: Ref = Field(examples=["note:/keys"])
    new_ref: Ref = Field(examples=["note:/security/keys"])


class RemoveBody(Parameters):
    """Items to remove or forget, by name."""

    refs: list[Ref] = Field(min_length=1, max_length=1000, examples=[["note:/keys"]])
    purge: bool = Field(default=False, description="Erase the text at once, versions too.")
    dry_run: bool = False


class ForgetBody(Parameters):
    """Items to archive: by name, or all that are old or unused enough."""

    refs: list[Ref] = Field(default=[], max_length=1000, examples=[["memory:/keys"]])
    older_than: str | None = Field(default=None, max_length=40, examples=["90d"])
    unused_since: str | None = Field(default=None, max_length=40)
    kinds: Names = []
    tags: Names = []
    dry_run: bool = False


class RestoreBody(Parameters):
    """An item to restore, or one of its versions that becomes the current one again."""

    ref: Ref = Field(examples=["note:/keys"])
    version: int | None = Field(default=None, ge=1, le=2**31)


class SupersedeBody(Parameters):
    """An item that replaces another."""

    old: Ref
    new: Ref


class LinkBody(Parameters):
    """A link from one item to another."""

    source: Ref = Field(examples=["note:/keys"])
    target: Ref = Field(examples=["note:/tokens"])
    type: str = Field(default="mentions", min_length=1, max_length=100)


class UnlinkBody(Parameters):
    """A link to remove; without a type, all links between the two."""

    source: Ref
    target: Ref
    type: str | None = Field(default=None, max_length=100)


class FeedbackBody(Parameters):
    """A verdict on an item that a query found."""

    query: Short = Field(min_length=1, examples=["how are keys rotated?"])
    ref: Ref = Field(examples=["note:/keys"])
    verdict: Literal["accepted", "modified", "dismissed", "failed"]


class AddBody(Parameters):
    """Sources to take in: URLs; files and folders of the server's machine need the scope admin."""

    sources: list[Ref] = Field(min_length=1, max_length=1000, examples=[["https://example.org/page"]])
    kind: str | None = Field(default=None, max_length=40)
    fields: Mapping[str, Any] = {}
    on_conflict: Literal["skip", "overwrite", "error"] = "skip"
    globs: Names = []
    depth: int = Field(default=0, ge=0, le=10, description="Follow a site's links so many steps.")
    sitemap: bool = False
    max_pages: int | None = Field(default=None, ge=1, le=10_000)


class RefreshBody(Parameters):
    """Items to read again from where they came from."""

    refs: list[Ref] = Field(default=[], max_length=1000)
    all: bool = False
    prune: bool = False


class PathsBody(Parameters):
    """Files or folders of the server's machine; without any, the usual places."""

    paths: list[Ref] = Field(default=[], max_length=100)
    prune: bool = False


class FileBody(Parameters):
    """A file of the server's machine."""

    file: Ref = Field(examples=["/backups/ricordo.db"])
    force: bool = False


class SettingBody(Parameters):
    """A setting, or a part of a profile, to be written to the user's file; null removes it."""

    name: str = Field(min_length=1, max_length=200, examples=["search.limit"])
    value: str | None = Field(max_length=10_000, examples=["20"])


class TokenBody(Parameters):
    """A token to make."""

    name: str = Field(min_length=1, max_length=100, examples=["laptop script"])
    scope: Literal["read", "write", "admin"] = "read"
    days: float | None = Field(default=None, gt=0, le=36_500)
