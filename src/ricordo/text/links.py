"""What a text links to, and which item a link means: ``[[wiki links]]`` and ``[Markdown](links.md)``, without a store.

A target has a *name* that is compared with the names items go by, so that a link finds its item whichever of the two
comes first. Names have three forms that never collide:

- an address, ``https://host/page``: items kept under it or made from it;
- a whole ref without its Markdown ending, ``disk:/notes/plan``: what a path means where it is written;
- a plain name, ``plan``: the last part of a wiki target, folded; items go by their file name, title and aliases.

A path from the root of a site, ``/docs/plan/``, has a plain name, too, because nobody knows where on the disk that
root is: it means the nearest item whose path ends so, without the numbers that order files, and without ``index``.

Nothing is looked up here; the store does that and lets ``best_candidate`` choose.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import unquote, urljoin

from ricordo.frozen import frozen
from ricordo.patterns import late
from ricordo.text.scripts import has_unspaced
from ricordo.values.items import Ref

MOST_TARGETS = 1_000
"""At most this many links of one text are kept; a text with more links is an index, and its links say little."""

_LINKING_TYPES = frozenset({None, "", "text/plain", "text/markdown", "application/x-ipynb+json"})
_LONGEST = 300
_MOST_ALIASES = 100
_ENDING = late(r"\.(?:md|markdown|mdown|mkdn?|mdx|qmd|rmd)$", re.IGNORECASE)
_SUFFIX = late(r"\.[a-z][a-z0-9]{0,9}$", re.IGNORECASE)
_GAPS = late(r"[\s_-]+")
_ADDRESS = late(r"^https?://", re.IGNORECASE)
_SCHEME = late(r"^[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_WIKI = late(r"\[\[([^\[\]\n|]+)(?:\|[^\[\]\n]*)?\]\]")
_BRACKETS = late(
    r"\["
    r"|\](?:\(\s*(?P<target><[^<>\n]*>|(?:[^\s()<>\\]|\\.|\([^\s()<>]*\))+)"
    r"(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'|\([^()\n]*\)))?\s*\))?"
)
_DEFINITION = late(r"^ {0,3}\[[^\[\]\n^][^\[\]\n]*\]:[ \t]+(<[^<>\n]*>|\S+)", re.MULTILINE)
_FENCE = late(r"^[ \t>*+-]*(?P<sign>`{3,}|~{3,})(?P<rest>.*)$")
_ESCAPED = late(r"\\([!-/:-@\[-`{-~])")
_TICKS = late(r"`+")
_SITE_ENDING = late(r"\.html?$", re.IGNORECASE)
_NUMBER = late(r"^\d+[-_. ]+(?=\S)")
"""The number that orders a file among others: ``02-setup`` is ``setup``."""
_INDEX = frozenset({"index", "readme"})
"""Files that are the page of their folder, without what folding leaves out."""
_PATHS_KEPT = 4_000
"""The words of so many paths are remembered: a link is compared with every item that has its name."""


@frozen
class LinkTarget:
    """A link as its text has it (without label and heading), and the name of what it means."""

    text: str
    name: str


@frozen
class LinkCandidate:
    """An item that has a name to which a link may lead."""

    n: int
    ref: Ref
    title: str
    is_live: bool = True


def carries_links(mime_type: str | None) -> bool:
    """Whether brackets in such a text are links; in code and tables they are not."""
    return mime_type in _LINKING_TYPES


def targets_in(text: str, ref: Ref, mime_type: str | None = None) -> tuple[LinkTarget, ...]:
    """The targets that the text of the item at ``ref`` links to, each once, in order.

    >>> [target.name for target in targets_in("see [[The Plan|it]] and [b](../b.md#x)", Ref("disk", "/notes/a/c.md"))]
    ['the-plan', 'disk:/notes/b']
    """
    if not carries_links(mime_type) or ("[[" not in text and "](" not in text and "]:" not in text):
        return ()
    prose = without_code(text)
    targets: dict[LinkTarget, None] = {}
    for target in (*_wiki_targets(prose, ref), *_markdown_targets(prose, ref)):
        targets[target] = None
        if len(targets) >= MOST_TARGETS:
            break
    return tuple(targets)


def _wiki_targets(prose: str, ref: Ref) -> Iterator[LinkTarget]:
    for match in _WIKI.finditer(prose):
        target = match.group(1).rstrip("\\").partition("#")[0].strip()
        if not target or len(target) > _LONGEST:
            continue
        if _ADDRESS.match(target) or Ref.looks_like(target):
            yield from _target_of_path(target, ref)
        elif name := plain_name(target):
            yield LinkTarget(target, name)


def _markdown_targets(prose: str, ref: Ref) -> Iterator[LinkTarget]:
    opened: list[bool] = []
    for match in _BRACKETS.finditer(prose):
        if match[0] == "[":
            opened.append(prose[match.start() - 1 : match.start()] == "!")
            continue
        is_picture = opened.pop() if opened else False
        if match["target"] and not is_picture:
            yield from _target_of_path(match["target"], ref)
    for match in _DEFINITION.finditer(prose) if "]:" in prose else ():
        yield from _target_of_path(match.group(1), ref)


def _target_of_path(written: str, ref: Ref) -> Iterator[LinkTarget]:
    """The target of a link to a file, a ref or an address; None for a link within the page or of another scheme."""
    target = _ESCAPED.sub(r"\1", written.strip("<>").strip())
    if not target or target.startswith("#") or len(target) > 4 * _LONGEST:
        return
    name = None
    if _ADDRESS.match(target):
        name = address(target)
    elif Ref.looks_like(target):
        drive, _, path = unquote(target.partition("#")[0]).partition(":")
        name = _name_at(drive, path)
    elif ref.drive == "url" and not _SCHEME.match(target):
        name = address(_absolute(ref.path[1:], target))
    elif not _SCHEME.match(target) and not target.startswith("//"):
        path = unquote(target.partition("#")[0].partition("?")[0])
        if _is_site_path(path):
            name = plain_name(_NUMBER.sub("", _SITE_ENDING.sub("", path.rstrip("/").rpartition("/")[2])))
        else:
            name = _name_at(ref.drive, posixpath.join(posixpath.dirname(ref.path), path)) if path else None
    if name:
        yield LinkTarget(target, name)


def _is_site_path(path: str) -> bool:
    """Whether a path may begin at the root of a site: it has no ending, or ``.html``."""
    last = path.rstrip("/").rpartition("/")[2]
    return path.startswith("/") and bool(last) and (_SITE_ENDING.search(last) is not None or not _SUFFIX.search(last))


def _name_at(drive: str, path: str) -> str | None:
    return None if "\x00" in path else ref_name(Ref(drive, posixpath.normpath(path)))


def _absolute(page: str, target: str) -> str:
    try:
        return urljoin(page, target)
    except ValueError:  # the page's address or the target is not a URL
        return target


def without_code(text: str) -> str:
    """The text with fenced and inline code replaced by blanks, so that all positions stay the same."""
    if "`" not in text and "~~~" not in text:
        return text
    lines = text.split("\n")
    fence = ""
    for at, line in enumerate(lines):
        match = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if fence:
            lines[at] = " " * len(line)
            if match and match["sign"].startswith(fence) and not match["rest"].strip():
                fence = ""
        elif match and not ("`" in match["rest"] and match["sign"][0] == "`"):
            fence = match["sign"]
            lines[at] = " " * len(line)
    paragraphs = re.split(r"(\n[ \t]*\n)", "\n".join(lines))
    return "".join(_without_spans(part) if "`" in part else part for part in paragraphs)


def _without_spans(text: str) -> str:
    """A paragraph with blanks for `` `code` ``: a run of ticks is closed by the next run as long as itself."""
    runs = [(match.start(), match.end()) for match in _TICKS.finditer(text)]
    last = {end - start: start for start, end in runs}
    pieces: list[str] = []
    at = 0
    opened: tuple[int, int] | None = None
    for start, end in runs:
        if opened is None:
            if last[end - start] > start:
                opened = (start, end)
        elif end - start == opened[1] - opened[0]:
            pieces += [text[at : opened[0]], " " * (end - opened[0])]
            at, opened = end, None
    return "".join((*pieces, text[at:]))


def names_of(ref: Ref, title: str, source_url: str | None, metadata: Mapping[str, Any]) -> set[str]:
    """The names an item goes by; ``aliases`` in its metadata are among them."""
    last = ref.path.rstrip("/").rpartition("/")[2]
    names = {ref_name(ref), plain_name(last), plain_name(_SUFFIX.sub("", last)), plain_name(title)}
    names.update(plain_name(alias) for alias in _aliases(metadata))
    page = _site_words(ref.path)[-1:]
    names.update(page)
    if ref.drive == "url":
        names.add(address(ref.path[1:]))
    if source_url and _ADDRESS.match(source_url):
        names.add(address(source_url))
    return names - {""}


def _aliases(metadata: Mapping[str, Any]) -> Sequence[str]:
    value = metadata.get("aliases", metadata.get("alias"))
    several = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    return [alias for alias in several if isinstance(alias, str)][:_MOST_ALIASES]


def ref_name(ref: Ref) -> str:
    """A ref as links name it: without the ending that some links leave out, and without the machine of a file."""
    return _ENDING.sub("", f"{ref.drive}:{ref.place}".rstrip("/"))


def plain_name(text: str) -> str:
    """The last part of a target, file name or title, folded: ``notes/The Plan.md`` is ``the-plan``."""
    last = text.strip().rstrip("/").rpartition("/")[2]
    return _GAPS.sub("-", _ENDING.sub("", last).casefold()).strip("-")[:_LONGEST]


def address(url: str) -> str:
    """A URL as it is compared: without fragment and last slash, the scheme and host in lower case."""
    plain = url.strip().partition("#")[0].rstrip("/")
    scheme, _, rest = plain.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme.lower()}://{host.lower()}{slash}{path}"


def best_candidate(target: LinkTarget, source: Ref, candidates: Iterable[LinkCandidate]) -> int | None:
    """The item a link from ``source`` means: the best match by name, then the nearest by path, then by ref."""
    matches = [
        (_match(target, source, candidate), _distance(source, candidate.ref), candidate) for candidate in candidates
    ]
    fitting = [entry for entry in matches if entry[0] is not None]
    if not fitting:
        return None
    _, _, best = min(fitting, key=lambda entry: (not entry[2].is_live, entry[0], entry[1], entry[2].ref, entry[2].n))
    return best.n


def _match(target: LinkTarget, source: Ref, candidate: LinkCandidate) -> int | None:
    """How surely a candidate matches a target (lower is surer); None if it does not match."""
    if "/" in target.name:
        return 0
    if _is_site_path(target.text.partition("#")[0].partition("?")[0]):
        return _site_match(target.text, candidate.ref.path)
    wanted = _path_words(target.text)
    own = _path_words(candidate.ref.path)
    if candidate.ref.drive == source.drive:
        folder = _path_words(posixpath.dirname(source.path))
        joined = posixpath.normpath(f"/{'/'.join((*folder, *wanted))}").strip("/").split("/")
        if own in (tuple(joined), wanted):
            return 0 if own != wanted else 1
    if len(wanted) > 1 and own[-len(wanted) :] == wanted:
        return 2
    if candidate.title.strip().casefold() == target.text.casefold():
        return 3
    if len(wanted) > 1:
        return None
    return 4 if own[-1:] == wanted else 5


def _site_match(written: str, path: str) -> int | None:
    """How surely an item at a path is the page that a path from the root of a site means."""
    wanted = _site_words(unquote(written.partition("#")[0].partition("?")[0]))
    own = _site_words(path)
    if own == wanted:
        return 0
    return 2 if own[-len(wanted) :] == wanted else None


@lru_cache(_PATHS_KEPT)
def _site_words(path: str) -> tuple[str, ...]:
    """The parts of a path as addresses of a site have them: folded, without numbers and endings, and without index."""
    bare = _SITE_ENDING.sub("", _ENDING.sub("", path.rstrip("/")))
    words = tuple([plain_name(_NUMBER.sub("", part)) for part in bare.split("/") if part and part != "."])
    return words[:-1] if len(words) > 1 and words[-1] in _INDEX else words


@lru_cache(_PATHS_KEPT)
def _path_words(path: str) -> tuple[str, ...]:
    return tuple([_GAPS.sub("-", part.casefold()) for part in _ENDING.sub("", path).split("/") if part and part != "."])


def _distance(source: Ref, other: Ref) -> int:
    """The number of folders between two items; another drive is farther than any folder."""
    if source.drive != other.drive:
        return 1_000_000 + other.path.count("/")
    here, there = source.path.split("/")[:-1], other.path.split("/")[:-1]
    return len(here) + len(there) - 2 * len(posixpath.commonprefix([here, there]))


MOST_MENTIONS = 200
"""At most this many entities of one text are linked; a text with more is a list."""

EXACT_CASE = 3
"""Titles this short must match in upper and lower case: IT is not it."""

_WORD = late(r"\w+")


def mentioned(text: str, titles: Iterable[tuple[int, str]]) -> tuple[tuple[int, str], ...]:
    """The numbers and titles of the entities that a text names, in the order given.

    >>> mentioned("Ada Lovelace met Charles.", [(1, "Ada  Lovelace"), (2, "Ada L"), (3, "charles"), (4, "Bob")])
    ((1, 'Ada  Lovelace'), (3, 'charles'))
    """
    entities: list[tuple[int, str]] = []
    plain = " ".join(text.split())
    folded = plain.casefold()
    words: frozenset[str] | None = None
    for number, title in titles:
        name = " ".join(title.split())
        short = len(name) <= EXACT_CASE
        wanted = name if short else name.casefold()
        first = _WORD.match(wanted)
        if first is not None and not has_unspaced(wanted):
            if words is None:
                words = frozenset(_WORD.findall(folded))
            if first.group().casefold() not in words:  # cheap, and true of nearly all titles
                continue
        if len(name) > 1 and _stands_in(wanted, plain if short else folded):
            entities.append((number, title))
            if len(entities) >= MOST_MENTIONS:
                break
    return tuple(entities)


def _stands_in(name: str, text: str) -> bool:
    """Whether a text contains a name as a whole word; in scripts without spaces, anywhere counts."""
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if not _goes_on(text[max(0, at - 1) : at], name[0]) and not _goes_on(text[end : end + 1], name[-1]):
            return True
        at = text.find(name, at + 1)
    return False


def _goes_on(beside: str, edge: str) -> bool:
    """Whether the character next to a name makes it part of a longer word."""
    letters = (beside.isalnum() or beside == "_") and (edge.isalnum() or edge == "_")
    return letters and not has_unspaced(edge)
