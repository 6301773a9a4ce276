"""Real files of every format, made by the programs that usually make them: found phrase, place and title."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ricordo.ingest.formats.read import parse_bytes, parse_file
from ricordo.values.items import Parsed

FORMATS = Path(__file__).parent.parent / "fixtures" / "formats"
MANIFEST = json.loads((FORMATS / "manifest.json").read_text(encoding="utf-8"))
EXACT = ("markdown", "text", "rst", "code", "csv", "json")
CORE = (*EXACT, "html")


def entries(folders: tuple[str, ...]) -> list[dict[str, Any]]:
    """The files in these folders, as the manifest lists them."""
    return [entry for entry in MANIFEST if entry["file"].startswith(folders)]


def place_of(parsed: Parsed, phrase: str) -> str:
    offset = parsed.text.index(phrase)
    return [mark.label for mark in parsed.marks if mark.offset <= offset][-1]


def assert_as_listed(entry: dict[str, Any]) -> None:
    """A file gives what the manifest says of it."""
    parsed = parse_file(FORMATS / entry["file"])
    assert entry["phrase"] in parsed.text
    assert parsed.title == entry["title"]
    assert parsed.structure == entry["structure"]
    assert parsed.language == entry.get("language", "")
    assert parsed.warnings == ()
    assert parsed.is_textual
    if "place" in entry:
        assert place_of(parsed, entry["phrase"]) == entry["place"]
    if "line" in entry:
        before = parsed.text[: parsed.text.index(entry["phrase"])]
        assert parsed.first_line + before.count("\n") == entry["line"]
    if "heading" in entry:
        assert entry["heading"] in parsed.text.split("\n")
    if "context" in entry:
        assert parsed.fields["context"] == entry["context"]
    for part in entry.get("contains", ()):
        assert part in parsed.text
    for part in entry.get("absent", ()):
        assert part not in parsed.text


@pytest.mark.parametrize("entry", entries(CORE), ids=lambda entry: entry["file"])
def test_a_file_gives_its_phrase_place_and_title(entry: dict[str, Any]) -> None:
    assert_as_listed(entry)


@pytest.mark.parametrize("entry", entries(EXACT), ids=lambda entry: entry["file"])
def test_a_text_is_kept_exactly_but_for_its_front_matter(entry: dict[str, Any]) -> None:
    path = FORMATS / entry["file"]
    original = path.read_bytes().decode(entry.get("encoding", "utf-8-sig")).replace("\r\n", "\n")
    parsed = parse_file(path)
    lines = original.split("\n")
    assert parsed.text == "\n".join(lines[parsed.first_line - 1 :])


def test_there_are_three_files_of_each_format() -> None:
    counts = {folder.name: sum(1 for _ in folder.iterdir()) for folder in FORMATS.iterdir() if folder.is_dir()}
    assert set(counts) == {
        "markdown", "text", "rst", "code", "csv", "json", "html",
        "pdf", "docx", "pptx", "xlsx", "epub", "mail", "notebook",
    }  # fmt: skip
    assert min(counts.values()) >= 3
    assert {str(path.relative_to(FORMATS).as_posix()) for path in FORMATS.glob("*/*")} == {e["file"] for e in MANIFEST}


def test_a_page_from_a_server_is_read_by_its_content_type() -> None:
    page = "<p>Grüße aus dem <b>Keller</b>".encode("cp1252")
    parsed = parse_bytes(page, "https://example.org/keller", "text/html; charset=ISO-8859-1")
    assert parsed.text == "Grüße aus dem Keller"
    assert parsed.mime_type == "text/html"


def test_a_vague_content_type_yields_to_the_name() -> None:
    assert parse_bytes(b"# Title", "https://example.org/README.md", "text/plain").title == "Title"
    assert parse_bytes(b"a = 1", "https://example.org/x.py", "application/octet-stream").language == "python"


@pytest.mark.parametrize(
    ("name", "first", "language"),
    [
        ("run", "#!/usr/bin/env python3\n", "python"),
        ("deploy", "#!/bin/sh -e\n", "bash"),
        ("Dockerfile", "FROM scratch\n", "dockerfile"),
        ("CMakeLists.txt", "project(x)\n", "cmake"),
        ("App.tsx", "export {}\n", "tsx"),
        ("main.GO", "package main\n", "go"),
        ("values.yaml", "---\na: 1\n", "yaml"),
    ],
)
def test_source_code_is_known_by_name_or_first_line(name: str, first: str, language: str) -> None:
    parsed = parse_bytes(first.encode(), name)
    assert (parsed.structure, parsed.language, parsed.text) == ("code", language, first)


@pytest.mark.parametrize(
    "text",
    [
        "%PDF-1.7 is how such a file begins.",
        "A file that begins with %PDF-1.4 and has an obj in it is a PDF: 1 0 obj",
        "The ftyp box names the brand.",
        "ID3 tags stand before the music.",
        "GIF89a was the last version.",
        "BZh is a sign of bzip2.",
        "PK means Phil Katz.",
    ],
)
def test_writing_about_a_file_format_is_still_writing(text: str) -> None:
    parsed = parse_bytes(text.encode(), "notes.txt")
    assert (parsed.text, parsed.mime_type) == (text, "text/plain")
