"""Markdown files: the text as it stands, fields from the front matter, and the title that it gives itself.

In the front matter a key that names a field sets it; every other key goes to ``metadata``. Nothing in it is an error: a
value that a field cannot hold becomes a warning and stays in ``metadata``, and a block that is not YAML stays in the
text.

In an Obsidian vault, the tags in a text (``#idea``, ``#area/garden``) count, too.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import field, replace
from datetime import date, datetime, time
from functools import cache
from pathlib import Path
from typing import Any

from ricordo.errors import UsageError
from ricordo.frozen import frozen
from ricordo.ingest.formats.plain import decode, without_surrogates
from ricordo.ingest.formats.source import Source
from ricordo.text.links import without_code
from ricordo.values.field_checks import checked_tags
from ricordo.values.items import FIELD_NAMES, Parsed, checked_fields

# Headings are looked for only near the top and in lines of normal length, so that a 50 MB line costs nothing.
_REACH = 64 * 1024
_LONGEST_TITLE = 300
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ATX = re.compile(r" {0,3}(#{1,6})[ \t]+(.+?)[ \t]*(?:[ \t]#+)?[ \t]*$")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_SETEXT_TEXT = re.compile(r" {0,3}[^\s#>|*-]")
_HTML_HEADING = re.compile(r"<h([1-6])\b[^>]*>(.*?)</h\1>", re.IGNORECASE)


def parse(source: Source) -> Parsed:
    """The whole file but its front matter, which is counted in ``first_line``."""
    decoded = decode(source.data, source.charset)
    front = read_front_matter(decoded.text) if decoded.text.startswith("---") else None
    text = decoded.text[front.end :] if front else decoded.text
    fields = front.fields if front else {}
    return Parsed(
        text=text,
        title=str(fields.get("title", "")) or first_heading(text),
        fields=fields,
        first_line=decoded.text.count("\n", 0, front.end) + 1 if front else 1,
        warnings=decoded.warnings + (front.warnings if front else ()),
    )


def first_heading(text: str) -> str:
    """The first heading of level 1 near the top, else the first of any level, in plain words."""
    first = ""
    fence = ""
    previous = ""
    commented = False
    for line in text[:_REACH].split("\n"):
        if len(line) > _LONGEST_TITLE * 3:
            previous = ""
            commented = commented and "-->" not in line
            continue
        opened = _FENCE.match(line)
        if fence:
            fence = "" if opened and opened[1].startswith(fence) else fence
            continue
        if opened and not commented:
            fence = opened[1]
            continue
        line, commented = _without_comments(line, commented)
        level, heading = _heading(line, previous)
        previous = line
        plain = plain_words(heading) if heading else ""
        if plain and level == 1:
            return plain
        first = first or plain
    return first


def _without_comments(line: str, commented: bool) -> tuple[str, bool]:
    """A line without the parts that stand in HTML comments, and whether a comment goes on in the next line."""
    visible = []
    while line:
        if commented:
            _, end, line = line.partition("-->")
            commented = not end
        else:
            before, start, line = line.partition("<!--")
            visible.append(before)
            commented = bool(start)
    return "".join(visible), commented


def _heading(line: str, previous: str) -> tuple[int, str]:
    if match := _ATX.match(line):
        return len(match[1]), match[2]
    if _SETEXT_TEXT.match(previous) and (match := _SETEXT.match(line)):
        return (1 if match[1][0] == "=" else 2), previous.strip()
    if match := _HTML_HEADING.search(line):
        return int(match[1]), match[2]
    return 0, ""


def plain_words(markdown: str) -> str:
    """One line of Markdown without its marks: links keep their words, images and anchors go."""
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)|\{#[^}]*\}|<[^>]*>", "", markdown)
    text = re.sub(r"\[!\[[^\]]*\]\([^)]*\)\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", text)
    text = re.sub(r"(\*\*|__|\*|(?<!\w)_|_(?!\w)|`+|~~)", "", text)
    text = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text)
    return " ".join(html.unescape(text).split())[:_LONGEST_TITLE]


_OPENING = re.compile(r"---[ \t]*\n")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.MULTILINE)
_LONGEST = 64 * 1024
_MOST_VALUES = 5000
_DEEPEST = 20
# The parser or the store sets these, never an author.
_FIELDS = frozenset(FIELD_NAMES) - {"metadata", "mime_type", "is_textual"}
_TEXTS = _FIELDS - {"tags", "importance", "seq", "immutable", "decay_protected"}
_YES = frozenset({"true", "yes", "on", "1"})
_NO = frozenset({"false", "no", "off", "0"})


@frozen
class FrontMatter:
    """What a front matter said; ``end`` is the offset in the file's text where the body starts."""

    end: int = 0
    fields: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def read_front_matter(text: str) -> FrontMatter:
    """The front matter of a text, or an empty one that leaves the text whole."""
    try:
        values, end = front_values(text)
    except NotYamlError as problem:
        return FrontMatter(warnings=(f"the front matter is not valid YAML and was kept as text: {problem}",))
    fields, warnings = to_fields(values)
    return FrontMatter(end, fields, tuple(warnings))


def front_values(text: str, *, longest: int = _LONGEST, most: int = _MOST_VALUES) -> tuple[dict[str, Any], int]:
    """The values of the front matter as JSON types, and where the body starts: at 0 if there is no front matter."""
    opening = _OPENING.match(text)
    closing = _CLOSING.search(text, opening.end(), opening.end() + longest) if opening else None
    if opening is None or closing is None:
        return {}, 0
    block = text[opening.end() : closing.start()]
    values = _plain(_load(block), [most])
    if values is None and not block.strip():
        return {}, closing.end()
    if not isinstance(values, dict):
        # A text may open with a horizontal rule and have another one further down.
        return {}, 0
    return values, closing.end()


class NotYamlError(Exception):
    """The block cannot be read as YAML of a sensible size."""


def _load(block: str) -> Any:
    import yaml

    # The C loader recurses on the C stack without a guard, so a deeply nested block goes to the Python one.
    nested = max(block.count("["), block.count("{"), block.count("- -"), block.count("? "))
    if nested > 1000:
        raise NotYamlError("it is nested too deeply")
    try:
        return yaml.load(block, Loader=_loader(fast=nested < 100))
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        reason = getattr(problem, "problem", None) or "it cannot be parsed"
        raise NotYamlError(f"{reason} (line {mark.line + 2})" if mark else str(reason)) from None
    except (RecursionError, ValueError, TypeError, OverflowError, KeyError, AttributeError):
        # A constructor that meets an impossible date, an unhashable key or endless nesting.
        raise NotYamlError("a value in it cannot be read") from None


@cache
def _loader(*, fast: bool) -> Any:
    """A safe YAML loader that leaves an impossible date (``2024-02-30``) as the text it is."""
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader) if fast else yaml.SafeLoader
    loader: Any = type("FrontMatterLoader", (base,), {})

    def timestamp(self: Any, node: Any) -> Any:
        try:
            return self.construct_yaml_timestamp(node)
        except ValueError:
            return node.value

    loader.add_constructor("tag:yaml.org,2002:timestamp", timestamp)
    return loader


def _plain(value: Any, budget: list[int], depth: int = 0) -> Any:
    """The value as JSON types: dates become ISO strings, keys become text.

    Values are counted while they are copied, because aliases can make a small block describe billions of them.
    """
    budget[0] -= 1
    if budget[0] < 0 or depth > _DEEPEST:
        raise NotYamlError("it holds too many or too deeply nested values")
    if isinstance(value, str):
        return without_surrogates(value).replace("\x00", "")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**63 else hex(value)
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else str(value)
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, Mapping):
        pairs = ((_plain(key, budget, depth + 1), _plain(part, budget, depth + 1)) for key, part in value.items())
        return {str(key): part for key, part in pairs}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(part, budget, depth + 1) for part in value]
    return str(value)


def to_fields(values: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The fields that the values set, other keys in ``metadata``, and warnings about values that cannot be used."""
    fields: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    warnings: list[str] = []
    for key, value in values.items():
        name = key.strip().lower().replace("-", "_")
        if name == "metadata" and isinstance(value, dict):
            metadata |= value
        elif name not in _FIELDS:
            metadata[key] = value
        elif value is not None:
            try:
                fields |= checked_fields({name: _as_field(name, value)})
            except UsageError as problem:
                metadata[key] = value
                # People write `source: <where I read it>`. That is no mistake, but it is not our field of that name.
                if name != "source":
                    warnings.append(f"front matter, {name}: {problem.message}. {problem.hint}".rstrip())
    if "category" not in fields and isinstance(metadata.get("auto_category"), str):
        # Other programs use this name for a category that they chose themselves.
        fields["category"] = metadata["auto_category"]
    if metadata:
        fields["metadata"] = metadata
    return fields, warnings


def _as_field(name: str, value: Any) -> Any:
    """The value converted to the type of its field, if the conversion is unambiguous."""
    if name == "tags":
        if isinstance(value, dict):
            raise UsageError("tags cannot be a mapping", hint="Write a list or a comma-separated line.")
        return [part for part in value if not isinstance(part, (dict, list))] if type(value) is list else value
    if name in ("immutable", "decay_protected"):
        word = str(value).strip().lower()
        if word not in _YES | _NO:
            raise UsageError(f"{name} cannot be '{value}'", hint="Write true or false.")
        return word in _YES
    if name in ("importance", "seq"):
        if isinstance(value, bool) or not re.fullmatch(r"\s*[+-]?\d{1,18}(\.0+)?\s*", str(value)):
            raise UsageError(f"{name} cannot be '{value}'", hint="A whole number.")
        return int(float(str(value)))
    if name in _TEXTS and isinstance(value, (dict, list, bool)):
        raise UsageError(f"{name} cannot be a {type(value).__name__}", hint="Write it as plain text.")
    text = str(value).strip()
    return text.lower() if name in ("severity", "loading") else text


MARKER = ".obsidian"
MOST_TAGS = 500
# A tag follows white space or an opening parenthesis (but not that of a link's target), and is not a number.
_TAG = re.compile(r"(?:(?<!\S)|(?<=[^\]]\()|(?<=^\())#((?:[^\W_]|[_/-])+)", re.MULTILINE)
_COMMENT = re.compile(r"%%.*?%%", re.DOTALL)


def in_vault(folder: Path, cache: dict[Path, bool]) -> bool:
    """Whether a folder, or one above it, holds Obsidian's settings folder; ``cache`` has earlier answers."""
    if folder not in cache:
        above = folder != folder.parent and in_vault(folder.parent, cache)
        cache[folder] = above or (folder / MARKER).is_dir()
    return cache[folder]


def tags_in(text: str) -> tuple[str, ...]:
    """The tags in a text, each once, in order; not those in code or comments.

    >>> tags_in("#idea about #area/garden, not #12, a#b or `#code`; # heading")
    ('idea', 'area/garden')
    """
    if "#" not in text:
        return ()
    tags: dict[str, None] = {}
    for match in _TAG.finditer(_COMMENT.sub(" ", without_code(text))):
        tag = match.group(1).strip("/")
        if tag and not tag.isdigit() and len(tags) < MOST_TAGS:
            tags.setdefault(tag)
    return tuple(tags)


def with_text_tags(parsed: Parsed) -> Parsed:
    """A parsed note whose tags are those of its front matter, without their sign, and those of its text."""
    if parsed.structure != "markdown":
        return parsed
    listed = (tag.removeprefix("#") for tag in checked_tags(parsed.fields.get("tags", ())))
    tags = checked_tags([*listed, *tags_in(parsed.text)])
    return replace(parsed, fields={**parsed.fields, "tags": tags}) if tags else parsed
