"""Mails and notebooks: which text is taken, in which order, under which title."""

from __future__ import annotations

import json
from typing import Any

from ricordo.ingest.formats.read import parse_bytes
from ricordo.values.items import Parsed


def mail(text: str) -> Parsed:
    return parse_bytes(text.encode(), "mail.eml")


def test_the_plain_alternative_is_preferred_to_the_html_one() -> None:
    parsed = mail(
        "Subject: Two forms\nContent-Type: multipart/alternative; boundary=x\n\n"
        "--x\nContent-Type: text/plain\n\nplain words\n--x\nContent-Type: text/html\n\n<p>html words</p>\n--x--\n"
    )
    assert "plain words" in parsed.text
    assert "html words" not in parsed.text


def test_an_html_part_beside_a_plain_one_is_text_too() -> None:
    parsed = mail(
        "Subject: Mixed\nContent-Type: multipart/mixed; boundary=x\n\n"
        "--x\nContent-Type: text/plain\n\nplain words\n--x\nContent-Type: text/html\n\n<p>html words</p>\n--x--\n"
    )
    assert parsed.text.index("plain words") < parsed.text.index("html words")


def test_headers_are_decoded_and_kept_as_metadata() -> None:
    parsed = mail(
        "Subject: =?iso-8859-1?q?Caf=E9_am_See?=\nFrom: =?utf-8?b?SsO2cmc=?= <j@example.org>\nTo: a@example.org\n"
        "Date: Fri, 1 Mar 2024 10:00:00 +0100\nContent-Type: text/plain; charset=iso-8859-1\n"
        "Content-Transfer-Encoding: quoted-printable\n\nGr=FC=DFe"
    )
    assert parsed.title == "Café am See"
    assert parsed.text.endswith("Grüße")
    assert parsed.fields["metadata"] == {
        "from": "Jörg <j@example.org>",
        "to": "a@example.org",
        "date": "2024-03-01T10:00:00+01:00",
    }


def notebook(cells: list[dict[str, Any]], **more: object) -> bytes:
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5} | more).encode()


def test_cells_without_text_keep_their_number() -> None:
    cells = [{"cell_type": "markdown", "source": ["# A\n", "b"]}, {"cell_type": "code", "source": "", "outputs": []}]
    parsed = parse_bytes(notebook([*cells, {"cell_type": "raw", "source": "last"}]), "n.ipynb")
    assert parsed.text == "# A\nb\n\nlast"
    assert [(mark.offset, mark.label) for mark in parsed.marks] == [(0, "cell 1"), (7, "cell 3")]


def test_pictures_are_left_out_of_outputs() -> None:
    output = {
        "output_type": "display_data",
        "data": {"image/png": "iVBORw0KGgo", "text/plain": "<Figure size 640x480>"},
    }
    parsed = parse_bytes(notebook([{"cell_type": "code", "source": "plot()", "outputs": [output]}]), "n.ipynb")
    assert parsed.text == "```python\nplot()\n```"


def test_the_language_of_a_notebook_is_that_of_its_kernel() -> None:
    cells = [{"cell_type": "code", "source": "x <- 1"}]
    parsed = parse_bytes(notebook(cells, metadata={"kernelspec": {"language": "R"}, "title": "Named"}), "n.ipynb")
    assert parsed.text == "```R\nx <- 1\n```"
    assert parsed.title == "Named"


def test_an_old_notebook_is_read() -> None:
    old = {
        "worksheets": [
            {"cells": [{"cell_type": "heading", "level": 2, "source": "Old"}, {"cell_type": "code", "input": "1+1"}]}
        ]
    }
    parsed = parse_bytes(json.dumps(old).encode(), "n.ipynb")
    assert (parsed.title, parsed.text) == ("Old", "## Old\n\n```python\n1+1\n```")
