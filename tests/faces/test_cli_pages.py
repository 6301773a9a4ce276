"""Pages on the command line: exit codes, envelopes, hints."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A site with two pages that link to each other."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path in ("/", "/b")
            body = f"<title>Page {self.path}</title><h1>Ships</h1><p>{'A ship. ' * 20}<a href='/b'>b</a>".encode()
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    for name, value in {"EMBEDDING_PROVIDER": "none", "FETCH_ALLOW_PRIVATE": "true"}.items():
        monkeypatch.setenv(f"RICORDO_{name}", value)
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_pages_are_added_shown_refreshed_and_removed_by_url(house: Any, root: str) -> None:
    added = house.json("add", f"{root}/", "--depth", "1", "--tag", "sea")
    assert (added["created"], added["failed"]) == (2, 0)
    assert [item["ref"] for item in added["items"]] == [f"url:/{root}/", f"url:/{root}/b"]
    shown = house.json("get", f"{root}/b")
    assert (shown["title"], shown["source_url"], shown["tags"]) == ("Page /b", f"{root}/b", ["sea"])
    refreshed = house.json("refresh", f"{root}/")
    assert (refreshed["checked"], refreshed["unchanged"]) == (2, 2)
    assert f"removed url:/{root}/b" in house.run("rm", f"{root}/b").stdout


def test_one_bad_url_exits_1_and_the_rest_is_there(house: Any, root: str) -> None:
    envelope = house.envelope("add", f"{root}/nope", f"{root}/b", code=1)
    assert [item["status"] for item in envelope["data"]["items"]] == ["failed", "created"]
    assert envelope["data"]["items"][0]["error"]["code"] == "not_found"
    printed = house.run("add", f"{root}/nope", code=1)
    assert "404" in printed.stderr
    assert "hint: " in printed.stderr


def test_a_private_address_is_refused_with_the_way_to_allow_it(
    house: Any, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RICORDO_FETCH_ALLOW_PRIVATE")
    assert "fetch.allow_hosts 127.0.0.1" in house.run("add", f"{root}/", code=1).stderr
    house.run("config", "set", "fetch.allow_hosts", "127.0.0.1")
    assert house.json("add", f"{root}/")["created"] == 1


def test_files_and_pages_go_together(house: Any, root: str) -> None:
    house.write("notes/a.md", "# A\n\nA note.\n")
    added = house.json("add", "notes", f"{root}/")
    assert added["created"] == 2
    assert house.run("add", f"{root}/", "--as", "note:/x", "--depth", "1", code=2).stderr.startswith("error: ")
