"""Bad input: every file ends in a Parsed or in Unreadable with a reason, and the next file is read as ever."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ricordo.errors import Unreadable
from ricordo.ingest.formats.read import parse_bytes, parse_file
from ricordo.ingest.formats.source import Limits
from ricordo.values.items import Parsed

from . import bad_files


def outcome(name: str, data: bytes, **limits: Any) -> Parsed | Unreadable:
    """What becomes of a file; anything but a Parsed or Unreadable fails the test by itself."""
    try:
        parsed = parse_bytes(data, name, limits=Limits(**limits))
    except Unreadable as caught:
        problem = caught
    else:
        return checked(parsed)
    assert problem.message
    assert problem.hint
    return problem


def checked(parsed: Parsed) -> Parsed:
    assert "\x00" not in parsed.text
    assert parsed.text.encode().decode() == parsed.text
    assert all(0 <= mark.offset <= len(parsed.text) for mark in parsed.marks)
    assert parsed.first_line >= 1
    assert len(parsed.warnings) < 20
    return parsed


@pytest.mark.parametrize("extension", bad_files.EXTENSIONS)
def test_an_empty_file_is_an_empty_text(extension: str) -> None:
    parsed = parse_bytes(b"", f"empty.{extension}")
    assert parsed.text == ""
    assert parsed.is_textual
    assert parsed.warnings == ()


@pytest.mark.parametrize("name", ["png.md", "png.txt", "png.docx", "gzip.csv", "old.doc"])
def test_a_binary_file_is_kept_without_text_whatever_its_name(name: str) -> None:
    parsed = outcome(name, bad_files.broken()[name])
    assert isinstance(parsed, Parsed)
    assert (parsed.text, parsed.is_textual) == ("", False)
    assert parsed.mime_type in ("image/png", "application/gzip", "application/msword")
    assert "binary" in parsed.warnings[0]


def test_nul_characters_are_taken_out() -> None:
    parsed = outcome("nul.md", bad_files.broken()["nul.md"])
    assert isinstance(parsed, Parsed)
    assert (parsed.title, parsed.text) == ("Title", "# Title\n\nwords")


def test_broken_utf8_is_replaced_with_a_warning() -> None:
    parsed = outcome("broken-utf8.md", bad_files.broken()["broken-utf8.md"])
    assert isinstance(parsed, Parsed)
    assert parsed.text == "# Überschrift\n\nEin Käfer\ufffd\ufffd\ufffd und mehr"
    assert "3 characters" in parsed.warnings[0]


@pytest.mark.parametrize("name", list(bad_files.nested()))
def test_deep_nesting_does_no_harm(name: str) -> None:
    result = outcome(name, bad_files.nested()[name])
    if name.endswith(("html", "valid.docx")):
        assert isinstance(result, Parsed)
        assert result.text.endswith("words")
    if name.endswith((".json", ".md", ".yaml")):
        assert isinstance(result, Parsed)
        assert len(result.text) == len(bad_files.nested()[name])


@pytest.mark.parametrize("name", list(bad_files.broken()))
def test_a_broken_file_ends_well(name: str) -> None:
    outcome(name, bad_files.broken()[name])


@pytest.mark.parametrize("name", list(bad_files.long_lines(100)))
def test_a_very_long_line_does_no_harm(name: str) -> None:
    size = 50_000_000 if name in ("line.txt", "line.md", "line.json") else 1_000_000
    data = bad_files.long_lines(size)[name]()
    result = outcome(name, data)
    assert isinstance(result, Parsed)
    assert len(result.text) > 0.1 * len(data)
    assert len(result.title) <= 300 or name == "line.eml"


def test_real_files_with_damage_end_well() -> None:
    ends = [outcome(name, data) for name, data in bad_files.damaged()]
    assert any(isinstance(end, Unreadable) for end in ends)
    assert any(isinstance(end, Parsed) for end in ends)
    assert not any("crashed" in end.message for end in ends if isinstance(end, Unreadable))


def test_noise_under_every_name_ends_well() -> None:
    for name, data in bad_files.random_files():
        outcome(name, data)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.binary(max_size=400), name=st.sampled_from(bad_files.EXTENSIONS))
def test_no_bytes_make_anything_else_happen(data: bytes, name: str) -> None:
    outcome(f"file.{name}", data)


@settings(max_examples=150, deadline=None)
@given(text=st.text(max_size=300))
def test_any_text_is_kept_exactly(text: str) -> None:
    parsed = parse_bytes(("x" + text).encode("utf-8", "replace"), "note.txt")
    expected = ("x" + text).encode("utf-8", "replace").decode()
    if parsed.is_textual:
        assert parsed.text == expected.replace("\x00", "").replace("\r\n", "\n").replace("\r", "\n")


def test_text_over_the_limit_is_cut_with_a_warning() -> None:
    parsed = parse_bytes(b"abcdefghij" * 10, "a.txt", limits=Limits(max_text_chars=25))
    assert parsed.text == "abcdefghijabcdefghijabcde"
    assert "first 25 of 100" in parsed.warnings[0]


def test_what_cannot_be_opened_is_unreadable(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "gone.md", tmp_path / "x\x00y.md"):
        with pytest.raises(Unreadable) as caught:
            parse_file(path)
        assert caught.value.hint


@pytest.mark.parametrize("name", ["zeile\nzwei.html", "\udcff\udcfe.html", "a" * 5000 + ".html", "", "..", "/"])
def test_strange_names_do_no_harm(name: str) -> None:
    assert "words" in parse_bytes(b"<html><p>words</p></html>", name).text
