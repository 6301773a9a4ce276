"""A small web on the loopback: sites that answer as a test tells them to, and remember what they were asked."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from ricordo import Ricordo

WORDS = "The lighthouse keeper wrote down every ship that passed the rocks in the night. "


def article(title: str, *links: str, text: str = WORDS * 4, head: str = "") -> str:
    """An ordinary page with a frame around its text."""
    anchors = "".join(f'<a href="{link}">{link}</a> ' for link in links)
    return (
        f"<!doctype html><html><head><title>{title}</title>{head}</head><body><nav>Home Products Login</nav>"
        f"<main><h1>{title}</h1><p>{text}</p><h2>Second heading</h2><p>{text}</p></main>"
        f"<div>{anchors}</div><footer>Imprint</footer></body></html>"
    )


@dataclass
class Asked:
    """One request: its path, and its headers by their names in lower case."""

    path: str
    headers: Mapping[str, str]


@dataclass
class Answer:
    """What a site answers; ``parts`` with pauses make a slow one, ``cut`` breaks off early."""

    body: bytes = b""
    status: int = 200
    mime: str = "text/html; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)
    pause: float = 0.0
    length: int | None = None


Route = Answer | Callable[[Asked], Answer]


class Site:
    """A server of its own, with routes that can be changed while it runs."""

    def __init__(self) -> None:
        self.routes: dict[str, Route] = {}
        self.asked: list[Asked] = []
        self.sent = 0
        """Bytes of bodies that were sent."""
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                site._answer(self)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base's
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # a client that hangs up is what some tests are about

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port: int = self._server.server_address[1]
        self.root = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def page(self, path: str, body: str | bytes, **how: Any) -> str:
        """Put a page in place; its URL."""
        self.routes[path] = Answer(body.encode() if isinstance(body, str) else body, **how)
        return self.root + path

    def paths(self) -> list[str]:
        return [one.path for one in self.asked]

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        asked = Asked(handler.path, {name.lower(): value for name, value in handler.headers.items()})
        self.asked.append(asked)
        route = self.routes.get(handler.path, Answer(b"nothing here", 404, "text/plain"))
        answer = route(asked) if callable(route) else route
        handler.send_response(answer.status)
        if answer.status != 304:
            handler.send_header("Content-Type", answer.mime)
            handler.send_header("Content-Length", str(len(answer.body) if answer.length is None else answer.length))
        for name, value in answer.headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        if not answer.pause:
            handler.wfile.write(answer.body)
            self.sent += len(answer.body)
        for at in range(len(answer.body) if answer.pause else 0):
            handler.wfile.write(answer.body[at : at + 1])
            handler.wfile.flush()
            time.sleep(answer.pause)
        if answer.length is not None:
            handler.close_connection = True


def redirect(target: str, status: int = 302) -> Answer:
    return Answer(b"", status, headers={"Location": target})


def with_etag(body: str, tag: str) -> Callable[[Asked], Answer]:
    """A page that is not sent again to those who have it."""

    def answer(asked: Asked) -> Answer:
        if asked.headers.get("if-none-match") == f'"{tag}"':
            return Answer(status=304, headers={"ETag": f'"{tag}"'})
        return Answer(body.encode(), headers={"ETag": f'"{tag}"'})

    return answer


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of a site are fetched one right after the other."""
    monkeypatch.setattr("ricordo.plugins.web.drives.DELAY", 0.0)


@pytest.fixture
def site() -> Iterator[Site]:
    one = Site()
    yield one
    one.close()


@pytest.fixture
def other_site() -> Iterator[Site]:
    one = Site()
    yield one
    one.close()


@pytest.fixture
def pages(open_engine: Callable[..., Ricordo], monkeypatch: pytest.MonkeyPatch) -> Ricordo:
    """An engine that may reach the loopback, and wastes no time being polite or patient."""
    monkeypatch.setattr("ricordo.plugins.web.fetch.FIRST_PAUSE", 0.01)
    monkeypatch.setattr("ricordo.plugins.web.fetch.MOST_MB", 1)
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    return open_engine(**{"fetch.allow_private": True, "fetch.seconds": 60})
