"""Encodings: marks, guesses, declarations, and line ends."""

from __future__ import annotations

import pytest

from ricordo.ingest.formats.read import parse_bytes

TEXT = "Grüße, naïve façade — “quoted”\nzweite Zeile\n"


def read(data: bytes, name: str = "a.txt") -> str:
    return parse_bytes(data, name).text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be", "cp1252"])
def test_western_text_is_read_in_every_usual_encoding(encoding: str) -> None:
    assert read(TEXT.encode(encoding)) == TEXT


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1251", "Это довольно длинный русский текст о погоде и природе."),
        ("koi8-r", "Это довольно длинный русский текст о погоде и природе."),
        ("shift_jis", "これは日本語のテキストです。検索エンジンが読みます。"),
        ("euc_jp", "これは日本語のテキストです。検索エンジンが読みます。"),
        ("gb18030", "这是一个中文文档，用于测试编码检测的效果。"),
        ("big5", "這是一個中文文件，用於測試編碼檢測的效果。"),
        ("euc_kr", "이것은 한국어 텍스트입니다. 인코딩 감지를 시험합니다."),
        ("cp1250", "Příliš žluťoučký kůň úpěl ďábelské ódy"),
        ("cp1253", "Η γρήγορη καφέ αλεπού πηδάει πάνω από το σκυλί"),
        ("cp1252", "El niño comió piña en España, ¿verdad?"),
        ("cp1252", "café"),
    ],
)
def test_older_encodings_are_guessed(encoding: str, text: str) -> None:
    assert read(text.encode(encoding)) == text


def test_a_guess_looks_at_the_part_that_is_not_ascii() -> None:
    text = "plain words\n" * 20_000 + "Das Gerät läuft über Nacht, schön und größer.\n"
    assert read(text.encode("cp1252")) == text


def test_a_few_broken_bytes_do_not_turn_utf8_into_something_else() -> None:
    data = "Größe und Maß, Öl und Übung".encode() + b"\xff"
    assert read(data) == "Größe und Maß, Öl und Übung\ufffd"


def test_every_kind_of_line_end_becomes_a_newline() -> None:
    assert read(b"a\r\nb\rc\nd\r\n\r\ne") == "a\nb\nc\nd\n\ne"


def test_other_separators_stay_so_that_lines_are_counted_alike() -> None:
    text = "a\x0cb\u2028c\x85d"
    assert read(text.encode()) == text


def test_the_page_declares_its_encoding() -> None:
    page = '<html><head><meta charset="windows-1251"></head><body><p>Всё</p></body></html>'
    assert read(page.encode("cp1251"), "a.html") == "Всё"


def test_a_false_declaration_is_not_believed() -> None:
    page = '<html><head><meta charset="ascii"></head><body><p>Grüße</p></body></html>'
    assert read(page.encode(), "a.html") == "Grüße" or read(page.encode(), "a.html") == "GrÃ¼ÃŸe"


def test_a_replacement_character_in_the_file_is_no_damage() -> None:
    parsed = parse_bytes("already \ufffd there".encode(), "a.txt")
    assert parsed.warnings == ()
