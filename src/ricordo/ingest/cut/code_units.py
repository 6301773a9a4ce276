"""The units of source code: classes, functions, tables, targets, each with its name as a breadcrumb.

It looks at lines and parses no grammar: a unit begins where a line looks like a definition in the file's language, and
the comments and decorators right above belong to it. If a line is misread, the cut is worse but no text is lost.
Parser packages are not used, because they download grammars while they run.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache, lru_cache
from pathlib import Path

from ricordo.ingest.cut.structure import Outline, Section, Trail, lines_with_offsets

_BEFORE = (
    r"(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|unsafe|inline|virtual"
    r"|override|open|sealed|data|case|declare|partial|suspend|mutating|local|extern|const|pub(?:\([^)]*\))?|@\w+)\s+)*"
)
_AFTER = (
    r"(?=\s*(?:[({:<\[=;,|]|$|(?:extends|implements|for|where|is|struct|interface|func|with|do|begin|returns?|final"
    r"|permits)\b))"
)
_ARROW = re.compile(
    r"(?:export\s+)?(?:default\s+)?(?:const|let|var)\s+(?P<name>[\w$]+)\s*(?::[^=]{1,80})?=\s*(?:async\b\s*)?"
    r"(?:function\b|\([^()]*\)\s*(?::[^=]{1,80})?=>|[\w$]+\s*=>|\($)"
)
_METHOD = re.compile(r"(?:(?:async|static|get|set|public|private|protected)\s+|[*#])*(?P<name>[\w$]+)\s*\([^;]*\{\s*$")
_SIGNATURE = re.compile(
    r"(?!(?:return|else|new|throw|delete|using|goto|case|await|typedef|if|for|while|switch|catch|do)\b)"
    r"(?:[\w:<>,\[\]*&?.@]{1,80}\s+){1,8}?[*&]{0,3}(?P<name>~?[A-Za-z_][\w:~]*)\s*\([^;=]*[{),(]\s*$"
)
_OWN: dict[str, re.Pattern[str]] = {
    "bash": re.compile(r"(?:function\s+)?(?P<name>[\w-]+)\s*\(\)|function\s+(?P<name2>[\w-]+)"),
    "sql": re.compile(
        r"(?i)create\s+(?:or\s+replace\s+)?(?:\w+\s+){1,3}?(?:if\s+not\s+exists\s+)?(?P<name>[\w.\"`\[\]]+)"
        r"\s*(?:\(|$|as\b|on\b|returns\b)"
    ),
    "toml": re.compile(r"\[+(?P<name>[^\]]+)\]+"),
    "yaml": re.compile(r"(?P<name>[\w./\"'-]+):(?:\s|$)"),
    "json": re.compile(r"\"(?P<name>[^\"]+)\"\s*:\s*[\[{]"),
    "css": re.compile(r"(?P<name>[^\s{}/;][^{};]*?)\s*(?:\{|,$)"),
    "make": re.compile(r"(?P<name>[\w.%/$()-]+(?: [\w.%/$()-]+)*)\s*:(?![=:])"),
    "hcl": re.compile(r"(?P<name>\w+(?:\s+\"[^\"]+\")*)\s*\{"),
    "graphql": re.compile(r"(?:extend\s+)?(?:type|input|query|mutation|fragment|enum)\s+(?P<name>\w+)"),
    "dockerfile": re.compile(r"(?i)from\s+(?P<name>\S+)"),
}  # fmt: skip
_SAME_OWN = {"ini": "toml", "scss": "css", "fish": "bash", "just": "make"}
_C_LIKE = frozenset({"c", "cpp", "cuda", "objc", "java", "csharp", "d", "dart", "groovy", "glsl", "hlsl"})
_JS_LIKE = frozenset({"javascript", "typescript", "tsx", "vue", "svelte"})
_FLAT = frozenset({"yaml", "css", "make", "toml", "dockerfile", "hcl", "sql"})  # units are never indented
_NOT_NAMES = frozenset({"if", "for", "while", "switch", "catch", "function", "return", "with"})
_LEADS = ("@", "//", "#", "/*", "--", ";;", "%", "template", "[")
_CLOSERS = ("}", ")", "]", "end", "*/", "else", "elif", "except", "finally", "catch")
_LONGEST_LINE = 400


def outline_code(text: str, language: str) -> Outline:
    """The units of a source file and the blank lines between its statements."""
    found = Outline(sections=[Section(0, 0, 0, "")])
    found.begin(0, rigid=True)
    scan = _CodeScan(found, _SAME_OWN.get(language, language))
    for start, line in lines_with_offsets(text):
        scan.line(start, line)
    if len(found.sections) > 1 and not text[: found.sections[1].start].strip():
        del found.sections[0]
    return found


@cache
def _table() -> dict[str, dict[str, str]]:
    return tomllib.loads(Path(__file__).with_name("code_units.toml").read_text("utf-8"))


@lru_cache
def _keyword_unit(language: str) -> re.Pattern[str]:
    """Matches a line that begins a unit in this language; the group ``holds`` means that it contains other units."""
    table = _table()
    words = table["units"].get(table["units_like"].get(language, language), table["units"]["other"])
    holders, _, doers = ("|".join(map(re.escape, side.split())) for side in words.partition("|"))
    return re.compile(
        rf"{_BEFORE}(?:(?P<holds>{holders or '(?!)'})|(?:{doers or '(?!)'}))(?!\w)\s*(?:<[^>]*>\s*)?"
        rf"(?:\([^)]*\)\s*)?(?P<name>[A-Za-z_$][\w$.!?]*(?:::\w+)*)(?:<[^{{]*?>)?(?P<rest>\s+for\s+[\w:]+)?{_AFTER}"
    )


class _CodeScan:
    """The state of one pass over the lines of a source file."""

    def __init__(self, found: Outline, language: str) -> None:
        self.found = found
        self.language = language
        self.keyword_unit = _keyword_unit(language)
        self.trail = Trail()
        self.fresh = True
        self.lead = -1  # where the comments and decorators right above this line begin
        self.lead_indent = 0
        self.open: list[tuple[int, bool]] = []  # indentation of the units around, and whether they hold others

    def line(self, start: int, line: str) -> None:
        bare = line.strip()
        if not bare:
            self.fresh, self.lead = True, -1
            return
        indent = len(line) - len(line.lstrip())
        unit = self._unit(bare, indent) if len(bare) <= _LONGEST_LINE else None
        if unit:
            self._begin(start, start + len(line) + 1, indent, *unit)
        elif bare.startswith(_LEADS):
            if self.lead < 0:
                self.lead, self.lead_indent = start, indent
            self._plain(start, indent, bare)
        elif self.lead >= 0 and (indent > self.lead_indent or bare[0] in "*)]"):
            self._plain(start, indent, bare)
        else:
            self.lead = -1
            self._plain(start, indent, bare)
        self.fresh = False

    def _unit(self, bare: str, indent: int) -> tuple[str, bool] | None:
        """The name of the unit this line begins, and whether it holds other units; None if it begins none."""
        if indent and (self.language in _FLAT or not self._inside_holder(indent)):
            return None
        own = _OWN.get(self.language)
        if own is not None:
            found = own.match(bare)
            if found is None or (self.language == "json" and indent > 4):
                return None
            return next((name for name in found.groups() if name), bare), self.language == "json"
        if found := self.keyword_unit.match(bare):
            return found["name"].rstrip(".") + (found["rest"] or ""), found["holds"] is not None
        if self.language in _JS_LIKE:
            found = _ARROW.match(bare) or (_METHOD.match(bare) if indent else None)
        elif self.language in _C_LIKE:
            found = _SIGNATURE.match(bare)
        if found and found["name"] not in _NOT_NAMES:
            return found["name"], False
        return None

    def _inside_holder(self, indent: int) -> bool:
        around = [holds for depth, holds in self.open if depth < indent]
        return bool(around) and all(around)

    def _begin(self, start: int, body: int, indent: int, name: str, holds: bool) -> None:
        first = self.lead if self.lead >= 0 and self.lead_indent == indent else start
        self._close(indent)
        heading = self.trail.push(indent + 1, name[:80])
        self._section(Section(first, body, indent + 1, heading))
        self.open.append((indent, holds))
        self.lead = -1

    def _plain(self, start: int, indent: int, bare: str) -> None:
        """A line that begins no unit: it may begin a block, or end the unit it is not indented under."""
        if not self.fresh or start == 0:
            return
        stays = bare.startswith(_CLOSERS) or (bare[0] == "#" and self.language in _C_LIKE)
        if self.open and indent <= self.open[-1][0] and not stays:
            self._close(indent)
            self._section(Section(start, start, indent + 1, self.trail.push(indent + 1, "")))
        elif indent:
            self.found.joints.append(start)
        else:
            self.found.blocks.append(start)
        self.found.begin(start, rigid=True)

    def _close(self, indent: int) -> None:
        while self.open and self.open[-1][0] >= indent:
            self.open.pop()

    def _section(self, section: Section) -> None:
        """Add a section; it replaces a section that the comments right above it began, because they belong to it."""
        sections = self.found.sections
        while len(sections) > 1 and sections[-1].start >= section.start:
            sections.pop()
        sections.append(section)
