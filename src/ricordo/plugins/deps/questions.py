"""Whether a question is about an installed package, and where what the package offers stands in the answer.

A question is about it if it imports it, names it, or names something that it offers in a way that only programs are
written: ``httpx.Client``, ``model_dump``, ``BaseModel``, ``run()``. A package whose name is an ordinary word
(``click``) counts only beside a word such as "package" or "signature", or in backquotes. To all other questions nothing
is added. What the user has on the same names stays first, and no more than ``MOST`` hits are told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from ricordo.frozen import frozen
from ricordo.patterns import late
from ricordo.plugins.deps.intake import DRIVE, PACKAGE, is_installed, is_of_here
from ricordo.plugins.deps.python import plain_name
from ricordo.search.candidates import Pool
from ricordo.search.fit import FITS, fit_from, fit_parts
from ricordo.search.query import IN_THE_ARCHIVE
from ricordo.search.ranking import Ranked
from ricordo.search.request import PluginStep
from ricordo.store.query import Ask, Needs
from ricordo.values.hits import Filters
from ricordo.values.items import Item, Ref

if TYPE_CHECKING:
    from ricordo.search.pipeline import Search

MOST = 5
"""So many hits of packages are told."""
OWN_FIRST = 2
"""So many of the user's own that name the same stay before them."""
LOOKED_AT = 40
DEEPER = 0.95
"""What the score of a name is multiplied by for each dot in it: the nearer to the top, the likelier it is meant."""
NAMED = 0.3
"""What a name gains if all words that it is made of are in the question."""
LONGEST_QUESTION = 4_000
_START = f"{DRIVE}:/"
_IMPORT = late(r"\b(?:from\s+([\w.]+)\s+import\b|import\s+([\w.]+))|(?:\bfrom\s+|\brequire\(\s*)['\"]([^'\"]+)['\"]")
_DOTTED = late(r"(?<![\w./@-])@?[A-Za-z_][\w-]*(?:/[\w-]+)?(?:\.[A-Za-z_]\w*)+")
_CALLED = late(r"([A-Za-z_]\w*)\(|`([A-Za-z_][\w.]*)(?:\(\))?`")
_WRITTEN = late(
    r"(?<![\w.])(?:[A-Za-z]\w*_\w+|_\w+|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+|[A-Z]{2,}[a-z]\w+|[a-z]+[A-Z]\w*)\b"
)
_WORD = late(r"(?<![\w@])@?[A-Za-z][\w-]*(?:/[\w-]+)?")
_PART = late(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_ABOUT_CODE = late(
    r"\b(?:packages?|librar(?:y|ies)|modules?|signatures?|decorators?|docstrings?|import(?:s|ed|ing)?|pip|npm|python"
    r"|typescript|functions?|methods?|class(?:es)?|keyword\s+arguments?)\b",
    re.IGNORECASE,
)


@frozen
class NamedInQuestion:
    """What a question names of the packages."""

    packages: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    """The last parts of names that only programs are written with."""
    dotted: tuple[str, ...] = ()

    def likeness(self, name: str, asked: Set[str]) -> float:
        """How much a name is the one that was asked for; ``asked`` are the words of the question."""
        last = name.rpartition(".")[2]
        if any(name == one or name.endswith(f".{one}") for one in self.dotted):
            return 3.0
        parts = {part.casefold() for part in _PART.findall(last)}
        return 2.0 if last in self.words else NAMED * len(parts & asked) / max(len(parts), 1)


class PackagesAsked(PluginStep):
    """Adds what packages offer to the answers of questions about them."""

    @cached_property
    def named(self) -> NamedInQuestion | None:
        """What the question names; None if it is about no package."""
        request, text = self.request, self.text[:LONGEST_QUESTION]
        kinds = self.filters.kinds
        is_open = replace(self.filters, kinds=()).is_empty() and (not kinds or (DRIVE in kinds and len(kinds) > 1))
        if not is_open or request.by == "meaning" or request.as_of is not None or not text:
            return None
        imported = [next(filter(None, found.groups())) for found in _IMPORT.finditer(text)]
        dotted = [found[0] for found in _DOTTED.finditer(text)]
        called = [next(filter(None, found.groups())) for found in _CALLED.finditer(text)]
        dotted += [name for name in called if "." in name]
        written = [*(found[0] for found in _WRITTEN.finditer(text)), *called, *dotted]
        words = tuple(dict.fromkeys(name.rpartition(".")[2] for name in written))[:LOOKED_AT]
        plain = [found[0] for found in _WORD.finditer(text)][: 2 * LOOKED_AT]
        heads = [name.partition(".")[0] for name in (*imported, *dotted)]
        names = dict.fromkeys([*heads, *dotted, *imported, *plain, *map(plain_name, plain)])
        found = self.store.items.numbers([Ref(DRIVE, f"/{start}{name}") for name in names for start in ("", "npm/")])
        items = list(self.store.items.get_many(list(found.values())).values())
        is_code = _ABOUT_CODE.search(text) is not None
        sure = {*heads, *imported, *dotted, *called}
        packages = [item for item in items if _counts(item, sure, is_code)]
        categories = tuple(dict.fromkeys(item.fields.category or "" for item in packages))
        return NamedInQuestion(categories, words, tuple(dotted)) if categories or words else None

    def apart(self, pool: Pool, ask: Ask, again: Callable[[Ask], Pool]) -> tuple[Pool, Pool | None]:
        """The best of the packages that the question names, or of all for names that only programs are written with."""
        named = self.named
        if named is None:
            return pool, None
        filters = Filters(kinds=(DRIVE,), categories=named.packages, states=IN_THE_ARCHIVE)
        said = [*named.packages, *(found[0] for found in _ABOUT_CODE.finditer(self.text))]
        known = set(self.store.analyzer.terms(" ".join(said)))  # these words are everywhere in a package
        words = tuple(word for word in ask.words if word.term not in known) or ask.words
        found = again(replace(ask, words=words, filters=filters, vector=None, other=None, by_word=True, needs=Needs()))
        if not named.packages:
            refs = zip(found.found.numbers, found.found.refs, strict=True)
            found = found.without({n for n, ref in refs if ref.rpartition(".")[2] not in named.words})
        return pool, found if len(found) else None

    def order(self, search: Search, entries: Iterable[Ranked]) -> Iterable[Ranked]:
        """The hits of packages behind what the user has on the same names, and before the rest."""
        if self.named is None:
            return entries
        ranked = list(entries)
        asked = {found[0].casefold() for found in _WORD.finditer(self.text)}
        asked -= {part for name in self.named.packages for part in (name, name.replace("-", "_"))}
        named, theirs = self.named, [entry for entry in ranked if entry.member.ref.startswith(_START)]
        own = [entry for entry in ranked if not entry.member.ref.startswith(_START)]
        worth = {entry.n: named.likeness(entry.member.ref.removeprefix(_START), asked) for entry in theirs}
        theirs.sort(key=lambda entry: -worth[entry.n] - entry.score * DEEPER ** entry.member.ref.count("."))
        theirs = self._installed(search, theirs[:LOOKED_AT])[:MOST]
        if not theirs:
            return own
        first = self._own_first(search, own[:OWN_FIRST])
        lower = own[first].score if first < len(own) else 0.0
        upper = own[first - 1].score if first else min(1.0, max(lower * 1.05, *(entry.score for entry in theirs)))
        steps = len(theirs) + 1
        placed = [
            entry.scored(lower + (upper - lower) * (steps - place) / steps, "the question names it")
            for place, entry in enumerate(theirs, start=1)
        ]
        return [*own[:first], *placed, *own[first:]]

    def _own_first(self, search: Search, own: Sequence[Ranked]) -> int:
        """How many of the user's own come first: those up to the last that fits and names the same."""
        assert self.named is not None
        names = [name.casefold().removeprefix("npm/") for name in (*self.named.packages, *self.named.words)]
        search.reader.read(own)
        first = 0
        for place, entry in enumerate(own, start=1):
            text = f"{search.reader.item(entry).title} {search.reader.best_text(entry)}".casefold()
            if fit_from(fit_parts(entry.member)) >= FITS and any(name in text for name in names):
                first = place
        return first

    def _installed(self, search: Search, entries: Sequence[Ranked]) -> list[Ranked]:
        """Those of versions that are installed now, for the project in which the search runs."""
        search.reader.read(entries)
        names = {entry.n: search.reader.item(entry).fields.category or "" for entry in entries}
        numbers = self.store.items.numbers([Ref(DRIVE, f"/{name}") for name in dict.fromkeys(names.values())])
        counting = set()
        for package in self.store.items.get_many(list(numbers.values())).values():
            if is_of_here(package) and is_installed(package):
                counting.add(package.fields.category)
            elif is_of_here(package):
                gone = f"{package.title} {package.fields.metadata.get('version')} is not installed any more"
                search.pool.notes.append(f"{gone}: 'ricordo refresh api:/' takes in what is")
        return [entry for entry in entries if names[entry.n] in counting]


def _counts(item: Item, sure: set[str], is_code: bool) -> bool:
    """Whether a name in the question means this item, and not an ordinary word."""
    about, name = item.fields.metadata, item.ref.path.removeprefix("/").removeprefix("npm/")
    if name in sure:
        return True
    if about.get("what") not in (PACKAGE, "module") or "." in name:
        return False
    return is_code or about.get("ordinary") is False
