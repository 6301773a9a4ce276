"""Colours for code, by Pygments: only languages that we know of, only blocks of a reasonable size, each block once.

Each line is an element of its own, so that a passage of a long file can be shown in its place.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache, lru_cache
from html import escape
from typing import Any

MOST_COLOURED = 60_000
"""Characters of code that are coloured; a longer block is shown plain, because colouring takes time."""
KEPT = 256
LANGUAGES = (
    "awk", "bash", "batch", "c", "clojure", "cmake", "cpp", "csharp", "css", "dart", "diff", "docker", "elixir", "elm",
    "erlang", "fish", "fortran", "fsharp", "go", "graphql", "groovy", "haskell", "html", "http", "ini", "java",
    "javascript", "json", "julia", "kotlin", "latex", "lua", "make", "nginx", "nix", "objective-c", "ocaml", "perl",
    "php", "powershell", "console", "protobuf", "pycon", "python", "r", "ruby", "rust", "scala", "scss", "sql", "swift",
    "terraform", "toml", "typescript", "tsx", "vim", "xml", "yaml", "zig",
)  # fmt: skip
"""What is coloured. Others, and those of plug-ins, are not: a lexer runs on texts of strangers."""


def code_html(text: str, language: str = "", first_line: int = 1, classes: str = "") -> str:
    """A block of code, its lines numbered by ``data-at``; without a language that we know, without colours."""
    lines = _coloured(text, language) if language in _aliases() and len(text) <= MOST_COLOURED else _plain(text)
    numbered = "".join(
        f'<span class="line" data-at="{number}">{line}\n</span>' for number, line in enumerate(lines, first_line)
    )
    return f'<pre class="{escape(f"code-block {classes}".strip())}" tabindex="0"><code>{numbered}</code></pre>\n'


def language_of(file_name: str) -> str:
    """The language of a file by its name; empty if we do not know it."""
    name = file_name.rpartition("/")[2].lower()
    return next((language for pattern, language in _patterns() if fnmatchcase(name, pattern)), "")


@cache
def _lexers() -> tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]:
    """The name, the aliases and the file names of each language."""
    from pygments.lexers import get_all_lexers

    known = set(LANGUAGES)
    return tuple(
        (next(alias for alias in aliases if alias in known), tuple(aliases), tuple(names))
        for _, aliases, names, _ in get_all_lexers(plugins=False)
        if known.intersection(aliases)
    )


@cache
def _aliases() -> dict[str, str]:
    return {alias: language for language, aliases, _ in _lexers() for alias in aliases}


@cache
def _patterns() -> tuple[tuple[str, str], ...]:
    return tuple((name.lower(), language) for language, _, names in _lexers() for name in names)


@cache
def _formatter() -> Any:
    from pygments.formatters import HtmlFormatter

    return HtmlFormatter(nowrap=True, classprefix="c-")


@lru_cache(maxsize=KEPT)
def _coloured(text: str, language: str) -> tuple[str, ...]:
    from pygments import highlight
    from pygments.lexers import get_lexer_by_name

    lexer = get_lexer_by_name(_aliases()[language], stripnl=False, ensurenl=False)
    return tuple(highlight(text, lexer, _formatter()).removesuffix("\n").split("\n"))


def _plain(text: str) -> list[str]:
    return escape(text).split("\n")
