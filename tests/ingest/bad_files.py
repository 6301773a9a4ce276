"""Files that should not exist, made when a test asks for them: bombs, loops, damage, nonsense."""

from __future__ import annotations

import io
import json
import random
import struct
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

FORMATS = Path(__file__).parent.parent / "fixtures" / "formats"
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"
EXTENSIONS = (
    "md", "txt", "rst", "py", "csv", "json", "jsonl", "html", "ipynb", "eml",
    "pdf", "docx", "pptx", "xlsx", "epub", "bin",
)  # fmt: skip
_LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "ha ha ha ha ha ha ha ha">'
    + "".join(f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in zip("abcdefghi", "bcdefghij", strict=True))
    + "]>"
)
_RELS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r" '
    'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="{}"/>'
    "</Relationships>"
)


def archive(parts: dict[str, str | bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in parts.items():
            made.writestr(name, content)
    return packed.getvalue()


def word(body: str | bytes) -> bytes:
    return archive({"_rels/.rels": _RELS.format("word/document.xml"), "word/document.xml": body})


def zip_bomb(part: str = "word/document.xml", megabytes: int = 64) -> bytes:
    return archive({"_rels/.rels": _RELS.format(part), part: b" " * (megabytes << 20)})


def lying_zip_bomb(part: str = "xl/workbook.xml") -> bytes:
    """Says in both headers that the part has ten bytes; it has 64 million."""
    packed = bytearray(zip_bomb(part))
    for signature, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        start = packed.rfind(signature)
        struct.pack_into("<I", packed, start + at, 10)
    return bytes(packed)


def marked_encrypted(packed: bytes) -> bytes:
    """The archive with the "encrypted" bit of every entry set."""
    changed = bytearray(packed)
    for signature, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = changed.find(signature)
        while start >= 0:
            changed[start + at] |= 1
            start = changed.find(signature, start + 4)
    return bytes(changed)


def pdf(*objects: str, trailer: str = "/Root 1 0 R") -> bytes:
    """A PDF of these objects, numbered from 1, with a right cross-reference table."""
    out = b"%PDF-1.4\n"
    places = []
    for number, body in enumerate(objects, start=1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    start = len(out)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n<< /Size {len(objects) + 1} {trailer} >>\n"
    return out + end.encode().replace(b"@START", str(start).encode()) + f"startxref\n{start}\n%%EOF\n".encode()


@cache
def looping_pdfs() -> dict[str, bytes]:
    catalog = "<< /Type /Catalog /Pages 2 0 R >>"
    page = (
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << /XObject << /X 5 0 R >> >> >>"
    )
    content = "<< /Length 5 >>\nstream\n/X Do\nendstream"
    itself = (
        "<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 5 0 R >> >> /Length 5 >>\n"
        "stream\n/X Do\nendstream"
    )
    return {
        "pages-in-a-circle.pdf": pdf(catalog, "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 1000000 >>"),
        "form-in-itself.pdf": pdf(catalog, "<< /Type /Pages /Kids [3 0 R] /Count 1 >>", page, content, itself),
        "previous-is-itself.pdf": pdf(
            catalog, "<< /Type /Pages /Kids [] /Count 0 >>", trailer="/Root 1 0 R /Prev @START"
        ),
        "a-million-pages.pdf": pdf(catalog, "<< /Type /Pages /Kids [3 0 R] /Count 1000000 >>", page, content, itself),
        "no-objects.pdf": b"%PDF-1.7\n%%EOF",
    }


@cache
def nested() -> dict[str, bytes]:
    deep_mail = b"".join(b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n' % (n, n) for n in range(500))
    deep_forward = b"Content-Type: message/rfc822\n\n" * 300 + b"Subject: end\n\nend"
    cell = {"cells": [{"cell_type": "code", "source": "x", "metadata": {}}]}
    return {
        "deep.json": b"[" * 1_000_000,
        "deep-objects.json": b'{"a":' * 200_000 + b"1" + b"}" * 200_000,
        "deep.ipynb": json.dumps(cell).encode().replace(b"{}", b"[" * 100_000 + b"]" * 100_000),
        "deep.html": b"<div>" * 200_000 + b"deep words" + b"</div>" * 200_000,
        "deep-list.html": b"<ul><li>" * 20_000 + b"deep words",
        "deep-table.html": b"<table><tr><td>" * 5_000 + b"deep words",
        "deep.docx": word("<d><body>" + "<sdt><sdtContent>" * 50_000),
        "deep-valid.docx": word(
            "<d><body>" + "<sdt>" * 200 + "<p><r><t>words</t></r></p>" + "</sdt>" * 200 + "</body></d>"
        ),
        "deep.eml": b"Subject: deep\n" + deep_mail,
        "deep-forward.eml": b"Subject: deep\n" + deep_forward,
        "deep.md": b"---\na: " + b"[" * 30_000 + b"\n---\n" + b"> " * 20_000,
        "deep.yaml": b"- " * 100_000,
    }


def bombs() -> dict[str, Callable[[], bytes]]:
    """Files that are small until they are read, each made when called, because that takes long."""
    laughing = _LAUGHS + "<document><body><p><r><t>&j;</t></r></p></body></document>"
    container = _LAUGHS + "<container><rootfiles><rootfile full-path='&j;'/></rootfiles></container>"
    return {
        "zip-bomb.docx": zip_bomb,
        "zip-bomb.pptx": lambda: zip_bomb("ppt/presentation.xml"),
        "zip-bomb.xlsx": lambda: zip_bomb("xl/workbook.xml"),
        "zip-bomb.epub": lambda: zip_bomb("META-INF/container.xml"),
        "lying-bomb.xlsx": lying_zip_bomb,
        "lying-bomb.docx": lambda: lying_zip_bomb("word/document.xml"),
        "many-parts.docx": lambda: archive({f"word/document{n}.xml": b"" for n in range(25_000)}),
        "xml-bomb.docx": lambda: word(laughing),
        "xml-bomb.epub": lambda: archive({"META-INF/container.xml": container, "x.opf": laughing}),
        "xml-bomb.xlsx": lambda: archive({"_rels/.rels": _RELS.format("xl/workbook.xml"), "xl/workbook.xml": laughing}),
        "xml-bomb.xml": lambda: laughing.encode(),
        "xml-bomb.html": lambda: laughing.encode(),
        "outside-entity.docx": lambda: word(
            '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]><d><body>&x;</body></d>'
        ),
    }


@cache
def broken() -> dict[str, bytes]:
    return {
        "png.md": PNG,
        "png.txt": PNG + bytes(1000),
        "png.docx": PNG,
        "gzip.csv": b"\x1f\x8b\x08\x00" + random.Random(1).randbytes(500),
        "nul.md": b"# Ti\x00tle\n\nwo\x00rds" + b"\x00",
        "only-nul.txt": bytes(1000),
        "broken-utf8.md": "# Überschrift\n\nEin Käfer".encode() + b"\xff\xfe\xc3 und mehr",
        "half-utf16.txt": "\ufeffwords".encode("utf-16-le") + b"\x00\xd8x",
        "surrogates.json": b'{"a": "\\ud800"}',
        "utf7.html": b'<meta charset="utf-7"><p>+ADw-script+AD4- words',
        "no-such-charset.html": b'<meta charset="klingon"><p>words',
        "not-a-text-charset.html": b'<meta charset="hex"><p>words',
        "no-such-charset.eml": b"Subject: =?klingon?q?words?=\nContent-Type: text/plain; charset=klingon\n\nwords",
        "bad-base64.eml": b"Subject: x\nContent-Transfer-Encoding: base64\n\n!!!!not base64",
        "bad-headers.eml": b"\xff\xfe: x\nSubject\nDate: never\nFrom: =?utf-8?b?broken\nTo: "
        + b"a@b," * 5000
        + b"\n\nwords",
        "no-headers.eml": b"\n\nwords",
        "cells.ipynb": b'{"cells": {"a": 1}}',
        "numbers.ipynb": b'{"cells": [1, null, {"cell_type": "code", "source": 5, "outputs": [{"data": 3}, 7]}], '
        b'"metadata": 4}',
        "not-a-notebook.ipynb": b"[1, 2]",
        "half-a-notebook.ipynb": b'{"cells": [{"cell_type": "code", ',
        "empty-archive.docx": archive({}),
        "no-main-part.docx": archive({"word/document9.txt": b""}),
        "no-xml.docx": word(b"this is not XML"),
        "nothing.xlsx": archive({"xl/workbook.xml": "<workbook/>"}),
        "no-slides.pptx": archive(
            {"_rels/.rels": _RELS.format("ppt/presentation.xml"), "ppt/presentation.xml": "<p/>"}
        ),
        "no-package.epub": archive({"mimetype": "application/epub+zip"}),
        "missing-chapter.epub": archive(
            {"x.opf": '<package><manifest><item id="a" href="gone.xhtml" media-type="text/html"/></manifest>'
             '<spine><itemref idref="a"/></spine></package>', "META-INF/container.xml": "<c/>"}
        ),
        "locked-parts.docx": marked_encrypted((FORMATS / "docx" / "loom.docx").read_bytes()),
        "locked-parts.epub": marked_encrypted((FORMATS / "epub" / "letters.epub").read_bytes()),
        "page.pdf": b"<!DOCTYPE html><html><body><p>Please log in first</p></body></html>",
        "old.doc": bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600) + "WordDocument".encode("utf-16-le") + bytes(600),
        "old.xls": bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600) + "Workbook".encode("utf-16-le") + bytes(600),
        "quotes.csv": b'a,b\n"' * 10_000,
        "wide.csv": b",".join(b"column%d" % n for n in range(100_000)),
    }  # fmt: skip


def long_lines(size: int) -> dict[str, Callable[[], bytes]]:
    """Files that are mostly one line of about ``size`` bytes, each made when called."""

    def words() -> bytes:
        return b"words without end " * (size // 18)

    return {
        "line.txt": words,
        "line.md": lambda: b"# " + words(),
        "line.rst": lambda: words() + b"\n===",
        "line.csv": lambda: words().replace(b" ", b","),
        "line.json": lambda: b'{"title": "' + words() + b'"}',
        "line.html": lambda: b"<p>" + words(),
        "tags.html": lambda: b"<b>x</b>" * (size // 8),
        "items.html": lambda: b"<li>x" * (size // 50),
        "comments.html": lambda: b"<!---->" * (size // 7) + b"words" * (size // 5),
        "line.eml": lambda: b"Subject: long\n\n" + words(),
        "line.ipynb": lambda: b'{"cells": [{"cell_type": "markdown", "source": "' + words() + b'"}]}',
        "line-front-matter.md": lambda: b"---\ntitle: " + words() + b"\n---\nwords",
        "latin-line.txt": lambda: words() + b"\xe9" * 1000,
        "comments-without-name": lambda: b"<!---->" * (size // 7),
    }


def damaged(seed: int = 7) -> Iterator[tuple[str, bytes]]:
    """Every real file cut off at several places, and with bytes changed at random."""
    chance = random.Random(seed)
    for path in sorted(FORMATS.glob("*/*")):
        data = path.read_bytes()
        for share in (0.1, 0.5, 0.9, 0.99):
            yield f"cut-{share}-{path.name}", data[: int(len(data) * share)]
        for attempt in range(3):
            changed = bytearray(data)
            for _ in range(max(3, len(data) // 500)):
                changed[chance.randrange(len(changed))] = chance.randrange(256)
            yield f"changed-{attempt}-{path.name}", bytes(changed)


def random_files(seed: int = 11) -> Iterator[tuple[str, bytes]]:
    """Noise under every name, and noise behind every promising start."""
    chance = random.Random(seed)
    starts = (
        b"",
        b"%PDF-1.7\n",
        b"PK\x03\x04",
        bytes.fromhex("d0cf11e0a1b11ae1"),
        b"---\n",
        b"<html>",
        b"\xff\xfe",
        b"{",
    )
    for extension in EXTENSIONS:
        for number, start in enumerate(starts):
            yield f"noise{number}.{extension}", start + chance.randbytes(chance.choice((1, 50, 3000)))
