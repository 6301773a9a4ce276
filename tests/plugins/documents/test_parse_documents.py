"""Real documents, made by the programs that usually make them: found phrase, place and title."""

from __future__ import annotations

from typing import Any

import pytest
from tests.ingest.test_parse_formats import CORE, FORMATS, MANIFEST, assert_as_listed

from ricordo.ingest.formats.read import parse_bytes, parse_file

DOCUMENTS = [entry for entry in MANIFEST if not entry["file"].startswith(CORE)]


@pytest.mark.parametrize("entry", DOCUMENTS, ids=lambda entry: entry["file"])
def test_a_document_gives_its_phrase_place_and_title(entry: dict[str, Any]) -> None:
    assert_as_listed(entry)


@pytest.mark.parametrize(
    ("file", "mime"),
    [
        ("pdf/chairs.pdf", "application/pdf"),
        ("docx/well.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        ("pptx/kites.pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
        ("xlsx/seeds.xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
        ("epub/letters.epub", "application/epub+zip"),
    ],
)
@pytest.mark.parametrize("name", ["misnamed.md", "misnamed.txt", "noextension", "misnamed.html"])
def test_a_document_under_a_wrong_name_is_known_by_its_content(file: str, mime: str, name: str) -> None:
    path = FORMATS / file
    parsed = parse_bytes(path.read_bytes(), name)
    assert parsed == parse_file(path)
    assert parsed.mime_type == mime
