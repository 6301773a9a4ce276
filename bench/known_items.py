"""Queries whose answer is known, made from any documentation tree by a program.

Each is something that a reader types because it stands in a page: a heading, the title of a page, the name of a file,
the name of a function or an option, an error message, or a few words of a sentence with a typo. The pages that hold it
are the right ones; what stands in more than three pages is left out. The same tree gives the same queries.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

SUFFIXES = (".md", ".markdown", ".rst", ".txt")
MOST_PAGES = 3
_FENCE = re.compile(r"^\s*(```|~~~)")
_HEADING = re.compile(r"^#{2,5} +(.+?)(?: *\{#?[^}]*\})? *#*$")
_UNDERLINE = re.compile(r"^([=\-~^'\"*+#])\1{2,}$")
_FRONT_TITLE = re.compile(r"\A---\n(?:.*\n)*?title: *[\"']?(.+?)[\"']? *\n")
_PEP_TITLE = re.compile(r"^Title: (.+)$", re.MULTILINE)
_CODE = re.compile(r"`+([^`\s]+)`+")
_IDENTIFIER = re.compile(
    r"(?:--[a-z][a-z-]{4,}|[A-Za-z]+(?:[_.][A-Za-z]+)+(?:\(\))?|[a-z]+[A-Z][A-Za-z]+|[A-Z][a-z]+[A-Z]\w+)$"
)
_ERROR = re.compile(r"(?:[Ee]rror|[Ww]arning|[Ff]ailed|denied|refused|cannot|Exception)\b")
_SENTENCE = re.compile(r"[A-Z][a-z]+(?: [a-z]+){7,}")
_MARKS = re.compile(r"[*_`]+|\{\{.*?\}\}|<[^>]+>|\[([^\]]*)\]\([^)]*\)")


@dataclass(frozen=True)
class KnownItem:
    """A query of some kind, and the pages (paths below the tree) that it is about."""

    kind: str
    query: str
    pages: frozenset[str]


@dataclass(frozen=True)
class _Page:
    path: str
    text: str
    prose: list[str]
    code: list[str]


def known_items(tree: Path, count: int, seed: int = 0) -> list[KnownItem]:
    """``count`` queries of a tree, as many of each kind as there are."""
    pages = [_page(tree, file) for file in sorted(tree.rglob("*")) if file.suffix in SUFFIXES]
    found = {kind: sorted(_few(pages, of_page).items()) for kind, of_page in KINDS.items()}
    chosen: list[KnownItem] = []
    each = -(-count // len(KINDS))
    for kind, items in found.items():
        random.Random(f"{seed} {kind}").shuffle(items)
        chosen += [KnownItem(kind, query, pages) for query, pages in items[:each]]
    return chosen[:count]


def _page(tree: Path, file: Path) -> _Page:
    text = file.read_text(encoding="utf-8", errors="replace")
    prose: list[str] = []
    code: list[str] = []
    fenced = False
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            code.append(line.strip())
        else:
            prose.append(line)
    return _Page(file.relative_to(tree).as_posix(), text, prose, code)


def _few(pages: Iterable[_Page], of_page: Callable[[_Page], Iterable[str]]) -> Mapping[str, frozenset[str]]:
    """What pages hold, with the pages that do; without what stands in many."""
    holding: dict[str, set[str]] = defaultdict(set)
    spelled: dict[str, str] = {}
    for page in pages:
        for text in of_page(page):
            holding[text.lower()].add(page.path)
            spelled.setdefault(text.lower(), text)
    return {spelled[key]: frozenset(held) for key, held in holding.items() if len(held) <= MOST_PAGES}


def _plain(text: str) -> str:
    return " ".join(_MARKS.sub(r"\1", text).split())


def _headings(page: _Page) -> Iterator[str]:
    lines = page.prose
    for at, line in enumerate(lines):
        found = _HEADING.match(line)
        underlined = at + 1 < len(lines) and len(line.strip()) > 3 and _UNDERLINE.match(lines[at + 1])
        text = _plain(found.group(1) if found else line if underlined and line[:1].strip() else "")
        if 2 <= len(text.split()) <= 10:
            yield text


def _titles(page: _Page) -> Iterator[str]:
    found = _FRONT_TITLE.search(page.text) or _PEP_TITLE.search(page.text)
    first = next((line[2:] for line in page.prose if line.startswith("# ")), "")
    text = _plain(found.group(1) if found else first)
    if text:
        yield text


def _file_names(page: _Page) -> Iterator[str]:
    stem = Path(page.path).stem
    if stem not in ("_index", "index", "README", "SUMMARY"):
        yield stem


def _identifiers(page: _Page) -> Iterator[str]:
    for text in _CODE.findall(page.text):
        if 6 <= len(text) <= 40 and _IDENTIFIER.match(text):
            yield text


def _errors(page: _Page) -> Iterator[str]:
    for line in page.code:
        if 4 <= len(line.split()) <= 16 and _ERROR.search(line) and not line.startswith(("#", "//", "def ", "if ")):
            yield line


def _sentences(page: _Page) -> Iterator[str]:
    """Eight words of a sentence that stands on one line, the longest of them with two letters swapped."""
    for line in page.prose:
        for found in _SENTENCE.findall(line):
            words = found.split()[:8]
            at = max(range(len(words)), key=lambda at: len(words[at]))
            if len(words[at]) >= 6:
                middle = len(words[at]) // 2
                word = words[at]
                words[at] = word[: middle - 1] + word[middle] + word[middle - 1] + word[middle + 1 :]
                yield " ".join(words)


KINDS: Mapping[str, Callable[[_Page], Iterable[str]]] = {
    "headings": _headings,
    "titles": _titles,
    "file names": _file_names,
    "identifiers": _identifiers,
    "error messages": _errors,
    "sentences with a typo": _sentences,
}
