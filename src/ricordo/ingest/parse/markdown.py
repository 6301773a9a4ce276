"""Markdown: the text as it stands, fields from its front matter, and the title it gives itself.

The text is neither rendered nor changed. Parsers that make Markdown use this module to find titles.
"""

from __future__ import annotations

import html
import re

from ricordo.ingest.parse.encoding import decode
from ricordo.ingest.parse.frontmatter import read_front_matter
from ricordo.ingest.parse.source import Source
from ricordo.values.items import Parsed

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
    shown = []
    while line:
        if commented:
            _, end, line = line.partition("-->")
            commented = not end
        else:
            before, start, line = line.partition("<!--")
            shown.append(before)
            commented = bool(start)
    return "".join(shown), commented


def _heading(line: str, previous: str) -> tuple[int, str]:
    if found := _ATX.match(line):
        return len(found[1]), found[2]
    if _SETEXT_TEXT.match(previous) and (found := _SETEXT.match(line)):
        return (1 if found[1][0] == "=" else 2), previous.strip()
    if found := _HTML_HEADING.search(line):
        return int(found[1]), found[2]
    return 0, ""


def plain_words(markdown: str) -> str:
    """One line of Markdown without its marks: links keep their words, images and anchors go."""
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)|\{#[^}]*\}|<[^>]*>", "", markdown)
    text = re.sub(r"\[!\[[^\]]*\]\([^)]*\)\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", text)
    text = re.sub(r"(\*\*|__|\*|(?<!\w)_|_(?!\w)|`+|~~)", "", text)
    text = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text)
    return " ".join(html.unescape(text).split())[:_LONGEST_TITLE]
