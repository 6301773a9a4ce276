"""Filters as SQL over the items table, so that they apply before the best are picked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ricordo.errors import UsageError
from ricordo.store.query import Window
from ricordo.store.sql.database import Dialect, marks, micros
from ricordo.store.values import Languages
from ricordo.values.hits import Filters

_IS_MARKED = "i.drive = 'disk' AND substr(i.path, 1, 2) = '/@'"
"""The path of a file carries its machine; a filter names the place of the file on whichever machine."""
_PLACE = "substr(i.path, 2 + instr(substr(i.path, 3), '/'))"


def where(filters: Filters, dialect: Dialect) -> tuple[str, list[object]]:
    """The condition and its bindings; the items table is called ``i``."""
    parts: list[str] = []
    values: list[object] = []

    def any_of(column: str, wanted: tuple[str, ...]) -> None:
        if wanted:
            parts.append(f"{column} IN ({marks(wanted)})")
            values.extend(wanted)

    def holds(place: str, wanted: object) -> None:
        condition, bound = dialect.json_is("i.metadata", f"$.{place}", wanted)
        parts.append(condition)
        values.extend(bound)

    any_of("i.state", filters.states)
    any_of("i.kind", filters.kinds)
    any_of("i.category", filters.categories)
    any_of("i.domain", filters.domains)
    any_of("i.severity", filters.severities)
    any_of("i.drive", filters.drives)
    if filters.not_drives:
        parts.append(f"i.drive NOT IN ({marks(filters.not_drives)})")
        values.extend(filters.not_drives)
    any_of("i.thread", filters.threads)
    any_of("i.loading", filters.loadings)
    for tags in (filters.tags_any, *((tag,) for tag in filters.tags_all)):
        spelled = [spelling for tag in tags for spelling in _spellings(tag)]
        if spelled:
            lowered = ",".join(["lower(?)"] * len(spelled))
            parts.append(f"i.n IN (SELECT item FROM item_tags WHERE lower(tag) IN ({lowered}))")
            values.extend(spelled)
    for paths in (filters.paths, filters.also_paths):
        if paths:
            conditions = [_path_condition(path, values) for path in paths]
            parts.append(f"({' OR '.join(conditions)})")
    if filters.importance_min is not None:
        parts.append("i.importance >= ?")
        values.append(filters.importance_min)
    for comparison, moment in ((">=", filters.after), ("<", filters.before)):
        if moment is not None:
            parts.append(f"i.updated_at {comparison} ?")
            values.append(micros(moment))
    if filters.authors:
        places = [(place, one) for one in filters.authors for place in ("$.name", "$.author")]
        is_theirs = [dialect.json_is("nullif(i.provenance, '')", place, one) for place, one in places]
        parts.append(f"({' OR '.join(condition for condition, _ in is_theirs)})")
        values.extend(value for _, bound in is_theirs for value in bound)
    for facet in filters.facets:
        holds(f"facets.{json.dumps(facet)}", True)
    for name, wanted in filters.metadata.items():
        if isinstance(wanted, Mapping | list | tuple):
            raise UsageError(
                f"the metadata filter '{name}' is not a plain value",
                hint="Filter by a text, a number, true or false; a facet of a turn by facet:correction.",
            )
        holds(json.dumps(name), wanted)
    return " AND ".join(parts) or "TRUE", values


def _spellings(tag: str) -> list[str]:
    """The ways to write a tag in capital and small letters: ``lower`` of SQLite knows those of English alone."""
    return [tag] if tag.isascii() else list(dict.fromkeys((tag, tag.lower(), tag.upper(), tag.title())))


def _path_condition(path: str, values: list[object]) -> str:
    """A prefix (``/notes``), a place inside (``notes/a``), or a glob (``*.md``). Brackets also mean themselves, because
    folders are named so (``app/[slug]``).
    """
    if any(sign in path for sign in "*?"):
        return _glob_condition(path, values)
    if "[" in path:
        return f"({_glob_condition(path, values)} OR {_place_condition(path, values)})"
    return _place_condition(path, values)


def _glob_condition(path: str, values: list[object]) -> str:
    values.append(path if path.startswith(("/", "*")) else f"*/{path}")
    if not path.startswith("/") or path.startswith("/@"):
        return "glob(?, i.path)"
    values.append(path)
    return f"(glob(?, i.path) OR ({_IS_MARKED} AND glob(?, {_PLACE})))"


def _place_condition(path: str, values: list[object]) -> str:
    if path.startswith("/@"):
        values.extend((path, path))
        return "substr(i.path, 1, length(?)) = ?"
    if path.startswith("/"):
        values.extend((path, path, path, path))
        return f"(substr(i.path, 1, length(?)) = ? OR ({_IS_MARKED} AND substr({_PLACE}, 1, length(?)) = ?))"
    values.append(f"/{path}")
    return "instr(i.path, ?) > 0"


DATED_FIELDS = (
    """CASE WHEN instr(i.fields, '"valid_from": "') > 0 OR instr(i.fields, '"valid_until": "') > 0 THEN i.fields END"""
)
"""The fields of an item, if dates may stand in them that say when it holds: most items have none."""


def window_of(text: str) -> Window:
    """From when and until when an item holds, given the JSON of its fields."""
    fields = json.loads(text)
    return fields.get("valid_from"), fields.get("valid_until")


DISTINCT = (
    "WITH RECURSIVE found(code) AS (SELECT min(language) FROM chunks WHERE language <> '' UNION ALL"
    " SELECT (SELECT min(language) FROM chunks WHERE language <> '' AND language > code) FROM found"
    " WHERE code IS NOT NULL) SELECT code FROM found WHERE code IS NOT NULL"
)
"""All languages that passages are noted with. It jumps from each to the next in their index, so it reads few rows."""


def in_languages(languages: Languages, column: str = "c.language") -> tuple[str, Sequence[str]]:
    """The condition that a passage is in one of some languages, to be put behind others, and its values."""
    if languages.only is not None:
        return f" AND {column} IN ({marks(languages.only)})", languages.only
    if languages.without:
        return f" AND {column} NOT IN ({marks(languages.without)})", languages.without
    return "", ()
