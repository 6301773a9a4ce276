"""Reads robots.txt (RFC 9309): what a site asks of programs that follow its links. It fetches nothing.

Rules are matched piece by piece rather than as regular expressions, so that no rule takes long.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote, urlsplit

from ricordo.frozen import frozen

PRODUCT = "ricordo"
"""The name by which a robots.txt addresses Ricordo; the ``User-Agent`` header begins with it."""
_MOST_LINES = 20_000
_TOKEN = re.compile(r"[A-Za-z_-]+|\*")
_KEPT = "/:@!$&'()*+,;=~%-._?#[]"


@frozen
class Robots:
    """The rules for Ricordo: paths that are allowed or not, the wait between pages, and where sitemaps are."""

    rules: tuple[tuple[str, bool], ...] = ()
    delay: float = 0.0
    sitemaps: tuple[str, ...] = ()

    def allows(self, url: str) -> bool:
        """Whether a page may be fetched: the longest matching rule decides; of two that are equally long, "allow"."""
        parts = urlsplit(url)
        path = _encoded(f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/")
        matching = [(len(rule), allowed) for rule, allowed in self.rules if rule and matches(rule, path)]
        return max(matching)[1] if matching else True


NOTHING_ALLOWED = Robots(rules=(("/", False),))


def matches(rule: str, path: str) -> bool:
    """Whether a path starts as a rule says; ``*`` stands for anything, ``$`` at the end for the end of the path."""
    to_end = rule.endswith("$")
    first, *pieces = rule.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    at = len(first)
    if not pieces:
        return not to_end or at == len(path)
    *middle, last = pieces
    for piece in middle:
        found = path.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return path.endswith(last) and len(path) - len(last) >= at if to_end else path.find(last, at) >= 0


def read_robots(text: str, product: str = PRODUCT) -> Robots:
    """The rules that a robots.txt has for the program of this name; if it does not name the program, those for all.

    Names are compared whole and without regard to case. A program that several groups name follows all of them.
    """
    rules: dict[str, list[tuple[str, bool]]] = {}
    delays: dict[str, float] = {}
    sitemaps: list[str] = []
    group: list[str] = []
    group_has_rules = False
    for line in text.removeprefix("\ufeff").splitlines()[:_MOST_LINES]:
        field, _, value = line.partition("#")[0].partition(":")
        field, value = field.strip().lower(), value.strip()
        if field == "user-agent":
            if group_has_rules:
                group, group_has_rules = [], False
            group.append(_product_token(value))
            rules.setdefault(group[-1], [])
        elif field in ("allow", "disallow"):
            group_has_rules = True
            for name in group:
                rules[name].append((_encoded(value), field == "allow"))
        elif field == "crawl-delay":
            for name in group:
                delays[name] = max(delays.get(name, 0.0), _seconds(value))
        elif field == "sitemap":
            sitemaps.append(value)
    ours = product.lower() if product.lower() in rules else "*"
    return Robots(tuple(rules.get(ours, ())), delays.get(ours, 0.0), tuple(sitemaps))


def _product_token(value: str) -> str:
    """The name of a program without its version: ``Ricordo/1.0`` names ``ricordo``. Empty if there is no name."""
    found = _TOKEN.match(value)
    return found[0].lower() if found else ""


def _encoded(path: str) -> str:
    """A path with all characters outside ASCII written as ``%XX``, so that both ways to write a letter are equal."""
    return re.sub(r"%[0-9a-fA-F]{2}", lambda found: found[0].upper(), quote(path, safe=_KEPT))


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        return 0.0
    return seconds if 0 <= seconds < 1e6 else 0.0


def sitemap_addresses(robots: Robots, root: str) -> Sequence[str]:
    """Where to look for sitemaps: where the site says, else where they usually are."""
    return robots.sitemaps or (f"{root}/sitemap.xml",)
