"""Parts that Ricordo writes itself, beside the libraries that could take their place.

    pip install python-docx python-pptx ebooklib protego rich
    python bench/libraries.py

Documents: how many of the words that a document holds each reader finds, how long it takes, and what it does with the
bad files of our tests (each file is read in a process of its own, with 10 s and 1 GB). robots.txt: how many rules of
RFC 9309 each reader follows. YAML: whether a value comes back as it was, and the time to write it. Terminal: the time
that importing takes.
"""

from __future__ import annotations

import importlib
import io
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path
from urllib.robotparser import RobotFileParser

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "ingest"))
FIXTURES = ROOT / "tests" / "fixtures" / "formats"
WORD = re.compile(r"\w+")
SECONDS, MEGABYTES = 10, 1_000

RFC_9309 = (
    ("User-agent: ric\nDisallow: /\n", True),
    ("User-agent: ricordo-extra\nDisallow: /\n", True),
    ("User-agent: Ricordo/2.0\nDisallow: /\n", False),
    ("User-agent: r\nDisallow: /\nUser-agent: ricordo\nAllow: /\nUser-agent: *\nDisallow: /\n", True),
    ("User-agent: ricordo\nDisallow: /b\nUser-agent: x\nAllow: /\nUser-agent: RICORDO\nDisallow: /a\n", False),
    ("User-agent: ricordo\nCrawl-delay: 1\nUser-agent: x\nDisallow: /\n", False),
    ("User-agent: *\nDisallow: /\nAllow: /a\n", True),
    ("User-agent: *\nDisallow: /*a$\n", False),
)
VALUES = ("plain", "a: b", "# no", "yes", "1e5", "", "two\nlines", "“quoted”", "- x", "2024-01-01", "x" * 300, 1.5)


def ours(data: bytes, name: str) -> str:
    from ricordo.ingest.parse.detect import detect
    from ricordo.ingest.parse.source import Source, load_parser

    source = Source(data, name, detect(name, data, None))
    if source.type.format == "binary":
        return ""
    return load_parser(f"ricordo.ingest.parse.{source.type.format}:parse")(source).text


def theirs(data: bytes, name: str) -> str:
    kind = name.rpartition(".")[2]
    if kind == "docx":
        document = importlib.import_module("docx").Document(io.BytesIO(data))
        cells = [cell.text for table in document.tables for row in table.rows for cell in row.cells]
        return "\n".join([*(paragraph.text for paragraph in document.paragraphs), *cells])
    if kind == "pptx":
        slides = importlib.import_module("pptx").Presentation(io.BytesIO(data)).slides
        return "\n".join(shape.text_frame.text for slide in slides for shape in slide.shapes if shape.has_text_frame)
    epub = importlib.import_module("ebooklib.epub")
    book = epub.read_epub(io.BytesIO(data))
    html = importlib.import_module("lxml.html")
    return "\n".join(html.fromstring(part.get_content()).text_content() for part in book.get_items_of_type(9))


def outcome(read: Callable[[bytes, str], str], data: bytes, name: str) -> str:
    """What reading a file comes to, in a child that may die of it."""
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_AS, (MEGABYTES << 20,) * 2)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS,) * 2)
        os.close(2)
        code = 0
        try:
            read(data, name)
        except MemoryError:
            code = 3
        except BaseException as error:  # noqa: BLE001 - what it is, is the result
            code = 2 if type(error).__name__ == "Unreadable" else 1
        os._exit(code)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return "killed"
    return ("read", "raised", "refused", "out of memory")[os.WEXITSTATUS(status)]


def documents(kind: str, package: str) -> None:
    from bad_files import bombs, broken, nested

    good = sorted((FIXTURES / kind).glob(f"*.{kind}"))
    found, seconds = {}, {}
    for reader in (ours, theirs):
        reader(good[0].read_bytes(), good[0].name)
        started = time.perf_counter()
        texts = []
        for path in good:
            try:
                texts.append(reader(path.read_bytes(), path.name))
            except Exception as error:  # noqa: BLE001 - a reader that fails has found nothing
                texts.append("")
                print(f"  {reader.__name__}: {path.name}: {type(error).__name__}")
        seconds[reader] = (time.perf_counter() - started) / len(good)
        found[reader] = [set(WORD.findall(text)) for text in texts]
    every = [a | b for a, b in zip(found[ours], found[theirs], strict=True)]
    total = sum(map(len, every))
    bad = {**bombs(), **broken(), **nested()}
    for reader in (ours, theirs):
        ends = [outcome(reader, data, name) for name, data in bad.items() if name.endswith(f".{kind}")]
        tally = ", ".join(f"{ends.count(end)} {end}" for end in dict.fromkeys(ends))
        name = "ours" if reader is ours else package
        share = sum(map(len, found[reader])) / total
        print(f"{kind} {name}: {share:.1%} of words, {seconds[reader] * 1000:.1f} ms a file; bad files: {tally}")


def robots() -> None:
    from ricordo.sources.robots import read_robots

    def standard(text: str) -> bool:
        parser = RobotFileParser()
        parser.parse(text.splitlines())
        return parser.can_fetch("ricordo", "https://e.org/a")

    def protego(text: str) -> bool:
        return bool(importlib.import_module("protego").Protego.parse(text).can_fetch("https://e.org/a", "ricordo"))

    readers = {"ours": lambda text: read_robots(text).allows("https://e.org/a"), "urllib": standard, "protego": protego}
    for name, reader in readers.items():
        right = sum(reader(text) is allowed for text, allowed in RFC_9309)
        print(f"robots {name}: {right} of {len(RFC_9309)} cases of RFC 9309")


def writing_yaml() -> None:
    import yaml

    from ricordo.memory.knowledge_files import _yaml as one_line

    def library(value: object) -> str:
        return yaml.safe_dump(value, default_flow_style=True, width=10**9, allow_unicode=True)

    for name, write in (("ours", one_line), ("pyyaml", library)):
        started = time.perf_counter()
        for _ in range(200):
            texts = [write(value) for value in VALUES]
        each = (time.perf_counter() - started) / 200 / len(VALUES)
        same = sum(yaml.safe_load(text) == value for text, value in zip(texts, VALUES, strict=True))
        lines = sum("\n" not in text.removesuffix("\n...\n").rstrip("\n") for text in texts)
        print(f"yaml {name}: {same} of {len(VALUES)} come back, {lines} on one line, {each * 1e6:.0f} µs each")


def size_of(package: str, seen: set[str] | None = None) -> tuple[int, int]:
    """Packages and bytes that installing a package brings."""
    seen = set() if seen is None else seen
    name = re.split(r"[^\w.-]", package, maxsplit=1)[0].lower()
    if name in seen:
        return 0, 0
    seen.add(name)
    try:
        about = distribution(name)
    except PackageNotFoundError:
        return 0, 0
    count, size = 1, sum(file.size or 0 for file in about.files or ())
    for needed in requires(name) or ():
        if "extra ==" not in needed:
            more = size_of(needed, seen)
            count, size = count + more[0], size + more[1]
    return count, size


def importing(module: str) -> float:
    """Milliseconds until a fresh process has imported a module, less those of an empty one; the best of seven."""

    def best(code: str) -> float:
        times = []
        for _ in range(7):
            started = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            times.append(time.perf_counter() - started)
        return min(times) * 1000

    return best(f"import {module}") - best("pass")


def main() -> None:
    for kind, package in (("docx", "python-docx"), ("pptx", "python-pptx"), ("epub", "ebooklib")):
        documents(kind, package)
    robots()
    writing_yaml()
    for package in ("python-docx", "python-pptx", "ebooklib", "protego", "rich", "pyyaml"):
        count, size = size_of(package)
        print(f"size {package}: {count} packages, {size / 1e6:.1f} MB")
    for module in ("ricordo.cli.terminal", "rich.console,rich.table,rich.progress", "click", "yaml", "docx", "pptx"):
        print(f"import {module}: {importing(module):.0f} ms")


if __name__ == "__main__":
    main()
