"""Bad documents: encrypted, hostile or damaged, or without what reads them; each says what is wrong with it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.ingest import bad_files
from tests.ingest.test_parse_bad_files import outcome
from tests.ingest.test_parse_formats import CORE

from ricordo.errors import MissingExtra, Unreadable
from ricordo.ingest.formats import read
from ricordo.ingest.formats.read import parse_file
from ricordo.plugin import FOLDER
from ricordo.values.items import Parsed

FORMATS = bad_files.FORMATS
ENCRYPTED = FORMATS.parent / "encrypted"
ADD = """
import json, sys
from ricordo import Ricordo

with Ricordo.open(sys.argv[1]) as memory:
    print(json.dumps({item.ref: item.error for item in memory.add(sys.argv[2], wait=False).items}))
"""


@pytest.mark.parametrize("name", ["locked.pdf", "locked.docx", "locked.pptx", "locked.xlsx"])
def test_an_encrypted_document_says_so(name: str) -> None:
    with pytest.raises(Unreadable, match="password") as caught:
        parse_file(ENCRYPTED / name)
    assert "without the password" in caught.value.hint


@pytest.mark.parametrize("name", ["locked-parts.docx", "locked-parts.epub"])
def test_an_archive_with_encrypted_parts_says_so(name: str) -> None:
    problem = outcome(name, bad_files.broken()[name])
    assert isinstance(problem, Unreadable)
    assert "password" in problem.message


def test_a_pdf_that_only_restricts_its_owner_is_read() -> None:
    assert parse_file(ENCRYPTED / "readable.pdf").text == parse_file(FORMATS / "pdf" / "chairs.pdf").text


@pytest.mark.parametrize("name", [name for name in bad_files.bombs() if name.startswith(("zip-bomb", "many"))])
def test_a_zip_bomb_is_not_unpacked(name: str) -> None:
    problem = outcome(name, bad_files.bombs()[name]())
    assert isinstance(problem, Unreadable)
    assert "unpack" in problem.message


@pytest.mark.parametrize("name", [n for n in bad_files.bombs() if n.startswith(("xml-bomb", "outside", "lying"))])
def test_an_xml_bomb_or_a_lying_archive_does_no_harm(name: str) -> None:
    result = outcome(name, bad_files.bombs()[name]())
    if isinstance(result, Parsed):
        assert name in ("xml-bomb.xml", "xml-bomb.html")
        assert len(result.text) < 1000
    else:
        assert "root:" not in result.message


@pytest.mark.parametrize("name", list(bad_files.looping_pdfs()))
def test_a_pdf_that_goes_in_circles_ends(name: str) -> None:
    result = outcome(name, bad_files.looping_pdfs()[name], seconds=20)
    assert isinstance(result, Unreadable) or not result.is_textual


def test_after_all_that_a_good_file_is_read() -> None:
    outcome("bomb.docx", bad_files.zip_bomb())
    outcome("noise.pdf", b"%PDF-1.4 noise")
    assert parse_file(FORMATS / "pdf" / "chairs.pdf").title == "Report on the borrowed chairs"
    assert parse_file(FORMATS / "docx" / "loom.docx").title == "Der Webstuhl im Dachboden"


def test_a_missing_library_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="PDF files need the extra 'documents'"):
        parse_file(FORMATS / "pdf" / "chairs.pdf")
    with pytest.raises(MissingExtra, match="documents"):
        parse_file(FORMATS / "xlsx" / "seeds.xlsx")
    assert parse_file(FORMATS / "docx" / "loom.docx").title


def test_without_the_plugin_documents_fail_alone_and_say_what_to_install(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("documents")  # what was compiled of the rest is used
    shutil.copytree(Path(FOLDER).parent, tmp_path / "site" / "ricordo", copy_function=os.symlink, ignore=ignored)
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", ADD, str(tmp_path / "store.db"), str(FORMATS)]
    errors = json.loads(subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout)
    failed = {Path(ref.removeprefix("disk:")).relative_to(FORMATS): error for ref, error in errors.items() if error}
    documents = {path.relative_to(FORMATS) for path in FORMATS.glob("*/*") if path.parent.name not in CORE}
    assert set(failed) == documents
    assert failed[Path("docx/loom.docx")] == {
        "code": "missing_extra",
        "message": "Word documents need the extra 'documents', which is not installed",
        "hint": "pip install 'ricordo[documents]'",
    }
