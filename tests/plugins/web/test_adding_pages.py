"""Adding by URL: what becomes of a page, and what is said about one that cannot be taken in."""

from __future__ import annotations

import gzip
import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ricordo import PathConflict, Ricordo, UsageError
from ricordo.plugins.web import fetch
from ricordo.plugins.web.fetch import MOST_REDIRECTS

from ...conftest import error_of
from .conftest import WORDS, Answer, Site, article, redirect

FORMATS = Path(__file__).parents[2] / "fixtures" / "formats"


def only(report: Any) -> Any:
    assert len(report.items) == 1
    return report.items[0]


def test_a_page_becomes_an_item_with_its_title_headings_and_description(pages: Ricordo, site: Site) -> None:
    head = '<meta name="description" content="What the keeper saw.">'
    url = site.page("/log", article("The night log", head=head))
    saved = only(pages.add(url))
    assert (saved.ref, saved.status, saved.version) == (f"url:/{url}", "created", 1)
    item = pages.get(url)
    assert item.title == "The night log"
    assert item.fields.description == "What the keeper saw."
    assert (item.kind, item.fields.source, item.fields.source_url) == ("document", "url", url)
    assert item.fields.mime_type == "text/html"
    assert "# The night log" in item.content
    assert "## Second heading" in item.content
    assert "Login" not in item.content
    assert pages.search("lighthouse keeper").hits[0].ref == f"url:/{url}"


def test_a_redirect_is_followed_and_the_item_keeps_the_url_that_was_asked_for(pages: Ricordo, site: Site) -> None:
    site.page("/new", article("Moved"))
    for status in (301, 302, 303, 307, 308):
        site.routes[f"/old{status}"] = redirect("/new", status)
        saved = only(pages.add(f"{site.root}/old{status}"))
        assert (saved.status, saved.ref) == ("created", f"url:/{site.root}/old{status}")
    assert pages.get(f"{site.root}/old301").title == "Moved"


@pytest.mark.parametrize(
    ("body", "mime"),
    [
        (article("Café über Größe").encode("latin-1"), "text/html; charset=iso-8859-1"),
        (article("Café über Größe", head='<meta charset="iso-8859-1">').encode("latin-1"), "text/html"),
        (article("Café über Größe").encode("utf-16"), "text/html; charset=utf-16"),
    ],
)
def test_the_charset_of_the_header_or_the_page_is_used(pages: Ricordo, site: Site, body: bytes, mime: str) -> None:
    url = site.page("/c", body, mime=mime)
    pages.add(url)
    assert pages.get(url).title == "Café über Größe"


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw-deflate"])
def test_a_packed_page_is_unpacked(pages: Ricordo, site: Site, encoding: str) -> None:
    plain = article("Packed").encode()
    raw = zlib.compressobj(wbits=-15)
    packed = {
        "gzip": gzip.compress(plain),
        "deflate": zlib.compress(plain),
        "raw-deflate": raw.compress(plain) + raw.flush(),
    }[encoding]
    url = site.page("/p", packed, headers={"Content-Encoding": encoding.removeprefix("raw-")})
    assert only(pages.add(url)).status == "created"
    assert pages.get(url).title == "Packed"


@pytest.mark.parametrize(
    ("path", "mime", "body", "found", "kept_as"),
    [
        ("/notes.md", "text/plain", b"# Plan\n\nBuy a boat.\n", "Buy a boat", "text/markdown"),
        ("/data.json", "application/json", b'{"ship": "Aurora"}', "Aurora", "application/json"),
        ("/a.txt", "text/plain", b"Plain words of a ship.", "Plain words", "text/plain"),
        ("/download?id=4", "application/octet-stream", b"# Log\n\nA ship.\n", "A ship", "text/markdown"),
    ],
)
def test_other_types_go_through_the_parsers_of_files(
    pages: Ricordo, site: Site, path: str, mime: str, body: bytes, found: str, kept_as: str
) -> None:
    url = site.page(path, body, mime=mime)
    assert only(pages.add(url)).status == "created"
    item = pages.get(url)
    assert found in item.content
    assert item.fields.mime_type == kept_as


def test_a_document_behind_a_url_is_read_like_the_file(pages: Ricordo, site: Site) -> None:
    document = next(FORMATS.rglob("*.docx"))
    url = site.page("/get", document.read_bytes(), mime="application/octet-stream",
                    headers={"Content-Disposition": 'attachment; filename="The report.docx"'})  # fmt: skip
    assert only(pages.add(url)).status == "created"
    assert pages.get(url).content.strip()


def test_a_picture_is_kept_without_text_and_reported(pages: Ricordo, site: Site) -> None:
    data = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4
    url = site.page("/p.png", data, mime="image/png")
    report = pages.add(url)
    assert only(report).status == "created"
    item = pages.get(url)
    assert (item.fields.is_textual, item.content, item.size) == (False, "", len(data))
    assert "without text" in report.notes[0]


def test_the_canonical_address_is_noted_when_it_is_on_the_same_site(pages: Ricordo, site: Site) -> None:
    own = site.page("/a?from=mail", article("A", head='<link rel="canonical" href="/a">'))
    foreign = site.page("/b", article("B", head='<link rel="canonical" href="https://example.com/b">'))
    pages.add(own, foreign)
    assert pages.get(own).fields.metadata == {"canonical_url": f"{site.root}/a"}
    assert pages.get(foreign).fields.metadata == {}


@pytest.mark.parametrize(
    "spelled",
    ["HTTP://127.0.0.1:{port}/a/b", "http://127.0.0.1:{port}/a/b#part", "http://127.0.0.1:{port}/a/./x/../b",
     "url:/http://127.0.0.1:{port}/a/b"],
)  # fmt: skip
def test_one_page_has_one_ref_however_its_url_is_spelled(pages: Ricordo, site: Site, spelled: str) -> None:
    url = site.page("/a/b", article("One"))
    pages.add(url)
    again = only(pages.add(spelled.format(port=site.port)))
    assert (again.ref, again.status) == (f"url:/{url}", "skipped")


def test_what_is_in_the_store_is_skipped_before_anything_is_fetched(pages: Ricordo, site: Site) -> None:
    url = site.page("/a", article("First"))
    pages.add(url)
    site.page("/a", article("Second"))
    assert only(pages.add(url)).status == "skipped"
    with pytest.raises(PathConflict):
        pages.add(f"{site.root}/b", url, on_conflict="error")
    assert site.paths() == ["/a"]
    assert only(pages.add(url, on_conflict="overwrite")).status == "updated"
    assert pages.get(url).title == "Second"
    assert only(pages.add(url, on_conflict="overwrite")).status == "skipped"


def test_every_verb_takes_a_url(pages: Ricordo, site: Site) -> None:
    url = site.page("/docs/", article("The docs"))
    below = site.page("/docs/more", article("More"))
    pages.add(url, below)
    assert pages.get(url).title == "The docs"
    assert [version.number for version in pages.history(url)] == [1]
    pages.edit(url, fields={"tags": ["sea"]})
    assert pages.get(url).version == 2
    assert [saved.ref for saved in pages.rm(url).items] == [f"url:/{url}"]
    assert pages.get(below).title == "More"
    pages.restore(url)
    assert {saved.ref for saved in pages.rm(f"{url}*").items} == {f"url:/{url}", f"url:/{below}"}


def test_a_page_can_be_kept_under_a_name_of_its_own(pages: Ricordo, site: Site) -> None:
    url = site.page("/a", article("A"))
    saved = only(pages.add(url, as_ref="note:/lighthouse", fields={"title": "Mine"}))
    assert saved.ref == "note:/lighthouse"
    item = pages.get("note:/lighthouse")
    assert (item.kind, item.title, item.fields.source_url) == ("note", "Mine", url)
    with pytest.raises(UsageError):
        pages.add(url, as_ref="note:/x", depth=1)


def failing(site: Site) -> dict[str, tuple[str, str, str]]:
    """Paths of pages that fail, each with the code, a word of the message and a word of the hint."""
    site.routes["/gone"] = Answer(b"", 410)
    site.routes["/login"] = Answer(b"", 401)
    site.routes["/forbidden"] = Answer(b"", 403)
    site.routes["/busy"] = Answer(b"", 429, headers={"Retry-After": "120"})
    site.routes["/broken"] = Answer(b"", 500)
    site.routes["/teapot"] = Answer(b"", 418)
    site.routes["/circle"] = redirect("/circle")
    site.routes["/round"] = redirect("/around")
    site.routes["/around"] = redirect("/round")
    site.routes["/to-file"] = redirect("file:///etc/passwd")
    site.routes["/empty"] = Answer(b"<html><body><script>draw()</script></body></html>")
    site.routes["/nothing"] = Answer(b"")
    site.routes["/large"] = Answer(b"", length=5_000_000)
    site.routes["/long"] = Answer(b"word " * 300_000, mime="text/plain")
    site.routes["/bomb"] = Answer(gzip.compress(bytes(50_000_000)), headers={"Content-Encoding": "gzip"})
    site.routes["/cut"] = Answer(b"<p>half a page", length=1000)
    site.routes["/cut-gzip"] = Answer(gzip.compress(WORDS.encode() * 9)[:60], headers={"Content-Encoding": "gzip"})
    site.routes["/bad-gzip"] = Answer(b"not packed at all", headers={"Content-Encoding": "gzip"})
    site.routes["/brotli"] = Answer(b"x" * 50, headers={"Content-Encoding": "br"})
    return {
        "/missing": ("not_found", "404", "browser"),
        "/gone": ("not_found", "410", "browser"),
        "/login": ("forbidden", "401", "login"),
        "/forbidden": ("forbidden", "403", "login"),
        "/busy": ("unavailable", "wait 120 s", "later"),
        "/broken": ("unavailable", "500", "later"),
        "/teapot": ("unreadable", "418", "browser"),
        "/circle": ("unreadable", "circle", "cookies"),
        "/round": ("unreadable", "circle", "cookies"),
        "/to-file": ("forbidden", "file:///etc/passwd", "browser"),
        "/empty": ("unreadable", "no text", "script"),
        "/nothing": ("unreadable", "no text", "script"),
        "/large": ("unreadable", "5.0 MB", "Download it"),
        "/long": ("unreadable", "limit of 1 MB", "Download it"),
        "/bomb": ("unreadable", "limit of 1 MB", "Download it"),
        "/cut": ("unavailable", "broke while", "later"),
        "/cut-gzip": ("unavailable", "broke while", "later"),
        "/bad-gzip": ("unreadable", "cannot be decompressed", "again"),
        "/brotli": ("unreadable", "'br'", "browser"),
    }


def test_each_bad_page_says_what_to_do_and_none_stops_the_rest(pages: Ricordo, site: Site) -> None:
    expected = failing(site)
    good = [site.page("/first", article("First")), site.page("/last", article("Last"))]
    report = pages.add(good[0], *(site.root + path for path in expected), "ftp://example.org/x", good[1])
    shown = {saved.ref.removeprefix(f"url:/{site.root}"): saved for saved in report.items}
    assert report.failed == len(expected) + 1
    assert [pages.get(url).title for url in good] == ["First", "Last"]
    for path, (code, message, hint) in expected.items():
        error = shown[path].error
        assert error is not None, path
        assert (error["code"], message in error["message"], hint in error["hint"]) == (code, True, True), error
    assert "https" in error_of(shown["ftp://example.org/x"])["hint"]
    assert pages.status()["items"] == 2


def test_a_server_that_fails_is_asked_again(pages: Ricordo, site: Site) -> None:
    last = Answer(article("At last").encode())
    answers = iter([Answer(b"", 503), Answer(b"", 429, headers={"Retry-After": "0"}), last])
    site.routes["/a"] = lambda asked: next(answers)
    assert only(pages.add(f"{site.root}/a")).status == "created"
    assert site.paths() == ["/a"] * 3


def test_a_circle_of_redirects_is_noticed_in_its_second_round(pages: Ricordo, site: Site) -> None:
    site.routes["/round"] = redirect("/around")
    site.routes["/around"] = redirect("/round")
    assert "circle" in only(pages.add(f"{site.root}/round")).error["message"]
    assert len(site.asked) <= 4


def test_a_chain_of_redirects_is_followed_up_to_its_limit(pages: Ricordo, site: Site) -> None:
    site.page("/0", article("The end"))
    for number in range(1, MOST_REDIRECTS + 2):
        site.routes[f"/{number}"] = redirect(f"/{number - 1}")
    assert only(pages.add(f"{site.root}/{MOST_REDIRECTS}")).status == "created"
    refused = only(pages.add(f"{site.root}/{MOST_REDIRECTS + 1}"))
    assert (refused.status, f"more than {MOST_REDIRECTS} times" in refused.error["message"]) == ("failed", True)


def next_of(answers: Iterator[Answer], asked: object) -> Answer:
    return next(answers)


def test_a_server_is_waited_for_as_it_asks_but_not_longer_than_the_longest_pause(
    open_engine: Callable[..., Ricordo], site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr("ricordo.plugins.web.fetch.time.sleep", waited.append)
    engine = open_engine(**{"fetch.allow_private": True, "fetch.seconds": 3600})
    longest = int(fetch.LONGEST_PAUSE)
    for asked, status in ((longest, "created"), (longest + 1, "failed")):
        answers = iter([Answer(b"", 503, headers={"Retry-After": str(asked)}), Answer(article("Back").encode())])
        site.routes[f"/{asked}"] = partial(next_of, answers)
        assert only(engine.add(f"{site.root}/{asked}")).status == status
    assert waited == [longest]


def test_a_page_that_never_ends_is_given_up_in_time(open_engine: Callable[..., Ricordo], site: Site) -> None:
    engine = open_engine(**{"fetch.allow_private": True, "fetch.seconds": 0.4})
    url = site.page("/slow", b"x" * 1000, pause=0.05)
    error = only(engine.add(url)).error  # all of it would be a page
    assert (error["code"], "0.4 s" in error["message"], "fetch.seconds" in error["hint"]) == ("unavailable", True, True)


def test_a_host_that_is_not_reached_fails_within_the_time_for_connecting(
    open_engine: Callable[..., Ricordo], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ricordo.plugins.web.fetch.CONNECT_SECONDS", 0.2)
    engine = open_engine()
    asked = socket.getaddrinfo
    answered = threading.Event()

    def slow(host: Any, *rest: Any, **more: Any) -> Any:
        if host == "slow.example":
            answered.wait(300)
        return asked(host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    report = engine.add("http://slow.example/", "http://nowhere.invalid/")
    answered.set()
    assert [error_of(saved)["code"] for saved in report.items] == ["unavailable"] * 2
    assert "0.2 s" in error_of(report.items[0])["message"]


def test_a_refused_connection_and_plain_text_for_tls_are_told_apart(pages: Ricordo, site: Site) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        closed = unused.getsockname()[1]
    refused, plain = pages.add(f"http://127.0.0.1:{closed}/", f"https://127.0.0.1:{site.port}/").items
    assert "not reached" in error_of(refused)["message"]
    assert "http, not https" in error_of(plain)["hint"]


@pytest.mark.parametrize(
    "url",
    ["http://user:secret@example.org/", "http://user@example.org/", "https://", "http:///path", "http://exa mple.org/",
     "http://example.org:99999/", "http://[::1/", "http://exam\nple.org/", "http://-/" + "x" * 5000, "javascript://x"],
)  # fmt: skip
def test_a_url_that_is_none_fails_alone_and_shows_no_password(pages: Ricordo, url: str) -> None:
    saved = only(pages.add(url))
    assert saved.status == "failed"
    assert error_of(saved)["hint"]
    assert "secret" not in error_of(saved)["message"]


def test_nothing_of_the_user_is_sent_along(pages: Ricordo, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9/")
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_secret")
    site.routes["/a"] = lambda asked: Answer(article("A").encode(), headers={"Set-Cookie": "id=1"})
    pages.add(f"{site.root}/a")
    pages.add(f"{site.root}/a", on_conflict="overwrite")
    for asked in site.asked:
        assert set(asked.headers) == {"host", "user-agent", "accept", "accept-encoding"}
        assert asked.headers["user-agent"].startswith("ricordo/")


def test_a_proxy_is_used_when_the_settings_say_so(
    open_engine: Callable[..., Ricordo], site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.routes["http://far.example/a"] = Answer(article("Through the proxy").encode())
    seen = [(2, 1, 6, "", ("93.184.216.34", 80))]
    lookup = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *a, **k: seen if "far" in host else lookup(host, *a, **k))
    monkeypatch.setenv("http_proxy", site.root)
    engine = open_engine(**{"fetch.proxy": "env"})
    assert only(engine.add("http://far.example/a")).status == "created"
    assert only(engine.add("http://127.0.0.1/")).error["code"] == "forbidden"
    assert site.paths() == ["http://far.example/a"]


def test_a_page_packed_in_several_pieces_is_whole(pages: Ricordo, site: Site) -> None:
    body = article("In pieces").encode()
    packed = gzip.compress(body[:50]) + gzip.compress(body[50:]) + b"what a broken server adds"
    url = site.page("/pieces", packed, headers={"Content-Encoding": "gzip"})
    assert only(pages.add(url)).status == "created"
    assert pages.get(url).content.count("lighthouse keeper") == 8


def test_bytes_behind_the_end_of_a_packed_page_count_too(pages: Ricordo, site: Site) -> None:
    packed = gzip.compress(article("A").encode()) + b"x" * 1_100_000
    url = site.page("/tail", packed, headers={"Content-Encoding": "gzip"})
    assert "over the limit" in only(pages.add(url)).error["message"]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Answer(b"\xff\xfe no such thing", headers={"Content-Encoding": "deflate"}), "unreadable"),
        (Answer(b"", 503, headers={"Retry-After": "²"}), "unavailable"),
        (Answer(b"", 429, headers={"Retry-After": "9" * 400}), "unavailable"),
    ],
)
def test_nonsense_in_headers_fails_one_page_and_no_more(pages: Ricordo, site: Site, answer: Answer, code: str) -> None:
    site.routes["/odd"] = answer
    report = pages.add(f"{site.root}/odd", site.page("/fine", article("Fine")))
    assert [(saved.status, (saved.error or {}).get("code")) for saved in report.items] == [
        ("failed", code),
        ("created", None),
    ]


def test_a_redirect_may_be_spelled_in_letters(pages: Ricordo, site: Site) -> None:
    site.page("/caf%C3%A9", article("At the café"))
    site.routes["/old"] = redirect("/café".encode().decode("latin-1"))
    assert only(pages.add(f"{site.root}/old")).status == "created"
