"""What an HTML page says about itself and links to: description, address, rules for programs (robots), links.

This module only reads these facts; the code that fetched the page decides what to do about them.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urljoin

from ricordo.ingest.parse.trees import Element

ABOUT = "page"
"""The name of the field that holds these facts in what was parsed."""

MOST_LINKS = 5_000
_LONGEST = 1_000
_DESCRIPTIONS = ("description", "og:description", "twitter:description")


def about_page(tree: Element) -> dict[str, Any]:
    """``description``, ``canonical``, ``robots`` (words such as noindex) and ``links``, each only if the page has
    it.
    """
    named: dict[str, str] = {}
    for meta in tree.iterfind(".//meta"):
        name = str(meta.get("name") or meta.get("property") or "").strip().lower()
        content = " ".join(str(meta.get("content") or "").split())
        if name and content:
            named.setdefault(name, content[:_LONGEST])
    robots = f"{named.get('robots', '')},{named.get('ricordo', '')}".lower()
    facts: dict[str, Any] = {
        "description": next((named[name] for name in _DESCRIPTIONS if name in named), ""),
        "canonical": _canonical(tree),
        "robots": sorted({word.strip() for word in robots.split(",")} & {"noindex", "nofollow", "none"}),
        "links": _links(tree),
    }
    return {name: value for name, value in facts.items() if value}


def _canonical(tree: Element) -> str:
    for link in tree.iterfind(".//link"):
        if "canonical" in str(link.get("rel") or "").lower().split():
            return str(link.get("href") or "").strip()[: 4 * _LONGEST]
    return ""


def _links(tree: Element) -> list[str]:
    """The targets of links, each once, in order, without links that are marked ``nofollow``."""
    base = next((str(one.get("href") or "").strip() for one in tree.iterfind(".//base") if one.get("href")), "")
    found: dict[str, None] = {}
    for link in tree.iter("a", "area"):
        target = str(link.get("href") or "").strip().partition("#")[0]
        if not target or len(target) > 4 * _LONGEST or "nofollow" in str(link.get("rel") or "").lower().split():
            continue
        try:
            found[urljoin(base, target) if base else target] = None
        except ValueError:
            continue
        if len(found) >= MOST_LINKS:
            break
    return list(found)
