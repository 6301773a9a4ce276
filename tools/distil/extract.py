"""What a package says, as short and long texts: one reader for each kind of file.

A reader yields ``(text, is_query)``. A query-like text is short and asks or names something (a heading, the first line
of a docstring, the summary of an operation); the other kind is a passage as the product would cut it: a title, a bar,
and up to about 800 characters.
"""

from __future__ import annotations

import html
import inspect
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

Text = tuple[str, bool]
PASSAGE = 800
SHORTEST = 12
_SPACE = re.compile(r"[ \t]+")
_BLANK = re.compile(r"\n\s*\n")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9])")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\-./]+")
_TAG = re.compile(r"<[^>]{1,600}>")
_DROPPED = re.compile(r"<(script|style|head|nav|svg)\b.*?</\1>", re.DOTALL | re.IGNORECASE)
_HEADING_HTML = re.compile(r"<h([1-4])[^>]*>(.*?)</h\1>", re.DOTALL | re.IGNORECASE)
_BREAK = re.compile(r"</?(?:p|li|tr|dd|dt|div|br|h[1-6]|pre|td)\b[^>]*>", re.IGNORECASE)
_MARKUP = re.compile(r":[a-z:]+:`~?([^`<]+)(?:<[^>]*>)?`|``([^`]+)``|`([^`]+)`_*|\*\*([^*]+)\*\*")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_UNDERLINE = re.compile(r"^([=\-~^\"'#*+])\1{2,}\s*$")
_DOC_COMMENT = re.compile(r"/\*\*(.*?)\*/", re.DOTALL)
_DOCSTRING = re.compile(r':[ \t]*\n[ \t]+[rR]?"""(.*?)"""', re.DOTALL)
_NAME = re.compile(r"(?:def|class) (\w+)")
_RUST_DOC = re.compile(r"((?:^[ \t]*//[/!]? ?[^\n]*\n)+)", re.MULTILINE)


def words_of(name: str) -> str:
    """An identifier or a file name, read as words."""
    return " ".join(part for part in _CAMEL.split(name) if part)


def markdown(name: str, text: str) -> Iterator[Text]:
    """Markdown and reStructuredText: sections under their headings."""
    title = words_of(name.rsplit("/", 1)[-1].rsplit(".", 1)[0])
    heading, held, named = "", [], False
    lines = text.splitlines()
    for at, line in enumerate(lines):
        following = lines[at + 1] if at + 1 < len(lines) else ""
        found = line.lstrip("#").strip() if line.startswith("#") else ""
        if (
            not found
            and line.strip()
            and _UNDERLINE.match(following)
            and len(following.strip()) >= len(line.strip()) - 2
        ):
            found = line.strip()
        if found:
            yield from _section(title, heading, "\n".join(held))
            if not named:
                title, named = plain(found), True
            heading, held = plain(found), []
        elif not _UNDERLINE.match(line):
            held.append(line)
    yield from _section(title, heading, "\n".join(held))


def web_page(name: str, text: str) -> Iterator[Text]:
    """Documentation as HTML: the same, by its headings."""
    text = _DROPPED.sub(" ", text)
    places = [(match.end(), match.start(), _bare(match[2])) for match in _HEADING_HTML.finditer(text)]
    if not places:
        return
    title = places[0][2]
    for (start, _, heading), after in zip(places, [*(place[1] for place in places[1:]), len(text)], strict=True):
        body = html.unescape(_TAG.sub("", _BREAK.sub("\n\n", text[start:after])))
        yield from _section(title, heading.rstrip("¶ "), body)


def _bare(text: str) -> str:
    return " ".join(html.unescape(_TAG.sub("", text)).split())


def plain(text: str) -> str:
    """A line without the marks of its format."""
    text = _LINK.sub(r"\1", text)
    text = _MARKUP.sub(lambda match: next(group for group in match.groups() if group is not None), text)
    return _SPACE.sub(" ", text).strip()


def _section(title: str, heading: str, body: str) -> Iterator[Text]:
    parts = [plain(part) for part in _BLANK.split(body)]
    parts = [part for part in parts if sum(map(str.isalpha, part)) > len(part) * 0.5]
    if heading and 2 <= len(heading.split()) <= 14:
        yield heading, True
    named = f"{title} › {heading}" if heading and heading != title else title
    yield from passages(named, parts)


def passages(title: str, parts: list[str]) -> Iterator[Text]:
    """Paragraphs put together to passages; the first sentence of each also stands alone."""
    held = ""
    for part in parts:
        if held and len(held) + len(part) > PASSAGE:
            yield from _passage(title, held)
            held = ""
        held = f"{held}\n{part}" if held else part
        while len(held) > PASSAGE * 1.5:
            cut = held.rfind(" ", 0, PASSAGE)
            cut = cut if cut > 0 else PASSAGE
            yield from _passage(title, held[:cut])
            held = held[cut:].lstrip()
    if held:
        yield from _passage(title, held)


def _passage(title: str, text: str) -> Iterator[Text]:
    if len(text) < SHORTEST * 3:
        return
    yield f"{title} | {text}" if title else text, False
    sentences = _SENTENCE.split(text.replace("\n", " "))
    for sentence in (sentences[0], sentences[len(sentences) // 2]):
        if 20 <= len(sentence) <= 180 and sentence.isascii():
            yield sentence, True


def python_code(name: str, text: str) -> Iterator[Text]:
    """Functions and classes with what their docstrings say, and the docstrings' first lines alone.

    By pattern: parsing hundreds of packages takes longer than the training.
    """
    module = words_of(name.removesuffix(".py").removesuffix("/__init__"))
    for match in _DOCSTRING.finditer(text):
        start = max(text.rfind("def ", 0, match.start()), text.rfind("class ", 0, match.start()))
        label = _NAME.match(text, start)
        about = inspect.cleandoc(match[1])
        if start < 0 or label is None or match.start() - start > 1500 or len(about) < SHORTEST:
            continue
        first = plain(" ".join(about.split("\n\n")[0].split()))
        if SHORTEST <= len(first) <= 200:
            yield first, True
        yield f"{module} › {words_of(label[1])} | {text[start : start + PASSAGE]}", False
        if len(about) - len(first) > 300:
            yield from passages(words_of(label[1]), [plain(" ".join(part.split())) for part in _BLANK.split(about)])
    for at in range(0, min(len(text), 20_000) - 600, 5000):
        start = text.rfind("\n", 0, at) + 1
        yield f"{name.rsplit('/', 1)[-1]} | {text[start : start + PASSAGE]}", False


def commented_code(name: str, text: str) -> Iterator[Text]:
    """Code of the families with braces: comments before declarations, and pieces of the code itself."""
    if len(text) > 400_000 or max((len(line) for line in text[:20_000].splitlines()), default=0) > 500:
        return  # generated or minified
    file = name.rsplit("/", 1)[-1]
    found = _DOC_COMMENT.finditer(text) if name.endswith((".ts", ".js", ".mjs")) else _RUST_DOC.finditer(text)
    for match in found:
        about = " ".join(re.sub(r"^[ \t]*(?:\*|//[/!]?) ?", "", line) for line in match[1].splitlines()).strip()
        about = plain(about.split(" @")[0])
        if len(about) < 25 or "Copyright" in about or "icense" in about:
            continue
        code = text[match.start() : match.start() + PASSAGE]
        first = _SENTENCE.split(about)[0]
        if SHORTEST <= len(first) <= 180:
            yield first, True
        if len(code) > 120:
            yield f"{file} | {code}", False
    for at in range(0, min(len(text), 12_000) - 400, 1600):
        start = text.rfind("\n", 0, at) + 1
        yield f"{file} | {text[start : start + PASSAGE]}", False


def api(name: str, text: str) -> Iterator[Text]:
    """Descriptions of services: OpenAPI, Google's discovery documents, and the service files of AWS."""
    try:
        data = json.loads(text)
    except ValueError:
        return
    if not isinstance(data, dict):
        return
    info = data.get("info") if isinstance(data.get("info"), dict) else {}
    service = str(info.get("title") or data.get("title") or data.get("metadata", {}).get("serviceFullName") or "")
    if not service and "paths" not in data:
        return
    about = described(info.get("description") or data.get("description") or data.get("documentation"))
    if about:
        yield from passages(service, [about])
    for label, summary, description in _operations(data):
        short, long = described(summary), described(description)
        first = short or _SENTENCE.split(long)[0]
        if SHORTEST <= len(first) <= 200:
            yield first, True
        full = " ".join(dict.fromkeys(part for part in (short, long) if part))
        if len(full) > 30:
            yield f"{service} {words_of(label)} | {full[:PASSAGE]}".strip(), False


def _operations(data: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for path, methods in _items(data.get("paths")):
        for method, operation in _items(methods):
            if isinstance(operation, dict) and method != "parameters":
                yield (
                    operation.get("operationId") or f"{method} {path}",
                    operation.get("summary"),
                    operation.get("description"),
                )
    for label, operation in _items(data.get("operations")):
        if isinstance(operation, dict):
            yield label, None, operation.get("documentation")
    for label, shape in _items(data.get("shapes") or data.get("schemas")):
        if isinstance(shape, dict):
            yield label, None, shape.get("documentation") or shape.get("description")
    pending = [data]
    while pending:
        for label, resource in _items(pending.pop().get("resources")):
            if isinstance(resource, dict):
                pending.append(resource)
                for verb, method in _items(resource.get("methods")):
                    yield f"{label} {verb}", None, method.get("description")


def _items(value: Any) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, dict) else []


def described(value: Any) -> str:
    """A description as one line of plain text."""
    return plain(_bare(value[:4000])) if isinstance(value, str) else ""


def wordnet(name: str, text: str) -> Iterator[Text]:
    """A dictionary: words with what they mean, meanings alone, and examples of use."""
    for line in text.splitlines():
        head, bar, gloss = line.partition(" | ")
        if not bar or line.startswith("  "):
            continue
        fields = head.split()
        words = [fields[4 + 2 * at].replace("_", " ") for at in range(int(fields[3], 16))]
        meaning, *examples = gloss.strip().split('; "')
        yield f"{', '.join(words)}: {meaning}", False
        yield words[0] if len(words[0]) > 6 else f"{words[0]} ({meaning.split(';')[0][:60]})", True
        for example in examples[:2]:
            if len(example) > 20:
                yield example.rstrip('"'), True


def lines(name: str, text: str) -> Iterator[Text]:
    """Files of short phrases, one a line."""
    for line in text.splitlines():
        line = re.sub(r"[{}()\[\]|]", " ", line).strip()
        line = line.lstrip("- ")
        if SHORTEST <= len(line) <= 160 and not line.startswith("#"):
            yield _SPACE.sub(" ", line), True


def strings(name: str, text: str) -> Iterator[Text]:
    """Any JSON: its strings that read like a sentence."""
    try:
        pending = [json.loads(text)]
    except ValueError:
        return
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            sentence = described(value)
            if len(sentence) >= 20 and sentence.count(" ") >= 3:
                yield sentence[:PASSAGE], len(sentence) < 120
        else:
            pending.extend(value.values() if isinstance(value, dict) else value if isinstance(value, list) else ())


def prose(name: str, text: str) -> Iterator[Text]:
    """Books and speeches."""
    parts = [" ".join(part.split()) for part in _BLANK.split(text)]
    yield from passages("", [part for part in parts if len(part) > 60])


def codes(name: str, text: str) -> Iterator[Text]:
    """The classification of diseases: every title."""
    for found in re.findall(r"<desc>([^<]{8,200})</desc>|<note>([^<]{8,200})</note>", text):
        title = found[0] or found[1]
        yield title, len(title) < 90


READERS: dict[str, tuple[tuple[str, ...], Callable[[str, str], Iterator[Text]]]] = {
    "docs": ((".md", ".mdx", ".rst", ".rst.txt"), markdown),
    "html": ((".html",), web_page),
    "python": ((".py",), python_code),
    "code": ((".ts", ".js", ".mjs", ".rs", ".go"), commented_code),
    "api": ((".json",), api),
    "wordnet": (("data.noun", "data.verb", "data.adj", "data.adv"), wordnet),
    "lines": ((".intent", ".dialog", ".yml"), lines),
    "strings": (("strings.json", "data/bioregistry.json"), strings),
    "prose": ((".txt",), prose),
    "codes": ((".xml",), codes),
}
"""By the name that ``sources.toml`` uses: which files are read, and how."""
