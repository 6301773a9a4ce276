"""What a site asks of programs that follow its links (robots.txt, RFC 9309). It reads text; it fetches nothing.

Rules are matched piece by piece rather than as regular expressions, so that no rule takes long.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from ricordo.frozen import frozen

_MOST_LINES = 20_000


@frozen
class Robots:
    """The rules for us: paths that are allowed or not, the wait between pages, and where sitemaps are."""

    rules: tuple[tuple[str, bool], ...] = ()
    delay: float = 0.0
    sitemaps: tuple[str, ...] = ()

    def allows(self, url: str) -> bool:
        """Whether a page may be fetched: the longest rule that fits decides, and of two as long the kinder one."""
        parts = urlsplit(url)
        path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        fitting = [(len(rule), allowed) for rule, allowed in self.rules if rule and fits(rule, path)]
        return max(fitting)[1] if fitting else True


NOTHING_ALLOWED = Robots(rules=(("/", False),))


def fits(rule: str, path: str) -> bool:
    """Whether a path starts as a rule says; ``*`` stands for anything, ``$`` at the end for the end."""
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


def read_robots(text: str, agent: str = "ricordo") -> Robots:
    """The rules that a robots.txt has for a program of this name, else those for all."""
    groups: dict[str, list[tuple[str, bool]]] = {}
    delays: dict[str, float] = {}
    sitemaps: list[str] = []
    current: list[str] = []
    in_rules = False
    for line in text.removeprefix("\ufeff").splitlines()[:_MOST_LINES]:
        name, _, value = line.partition("#")[0].partition(":")
        name, value = name.strip().lower(), value.strip()
        if name == "user-agent":
            current = [value.lower()] if in_rules else [*current, value.lower()]
            in_rules = False
            groups.setdefault(value.lower(), [])
        elif name in ("allow", "disallow"):
            in_rules = True
            for one in current:
                groups[one].append((value, name == "allow"))
        elif name == "crawl-delay":
            in_rules = True
            delays |= dict.fromkeys(current, _seconds(value))
        elif name == "sitemap":
            sitemaps.append(value)
    own = next((one for one in groups if one != "*" and one and one in agent.lower()), "*")
    return Robots(tuple(groups.get(own, ())), delays.get(own, 0.0), tuple(sitemaps))


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        return 0.0
    return seconds if 0 <= seconds < 1e6 else 0.0


def sitemap_addresses(robots: Robots, root: str) -> Sequence[str]:
    """Where to look for sitemaps: where the site says, else where they usually are."""
    return robots.sitemaps or (f"{root}/sitemap.xml",)
