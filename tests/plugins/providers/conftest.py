"""Providers on this machine: servers that speak each one's format, and misbehave when they are told to."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

DIMENSIONS = {"openai": 1536, "voyage": 1024, "gemini": 3072, "ollama": 256}
PROVIDERS = tuple(DIMENSIONS)
GIVEN = {"openai": 1536, "voyage": 1024, "gemini": 3072, "ollama": 768}
"""How long vectors are on the wire; Ollama's are cut."""


@dataclass
class Asked:
    """One request as it came."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def key(self) -> str:
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ")
        return bearer or self.headers.get("x-goog-api-key", "")

    @property
    def texts(self) -> list[str]:
        if "requests" in self.body:
            return [one["content"]["parts"][0]["text"] for one in self.body["requests"]]
        return list(self.body["input"])


@dataclass
class Service:
    """A provider. ``faults`` are used up one per request (a fault for ever if ``is_stuck``); then all goes well."""

    provider: str
    url: str = ""
    faults: list[str] = field(default_factory=list)
    is_stuck: bool = False
    retry_after: str = "0"
    dimensions: int = 0
    bad_keys: tuple[str, ...] = ()
    asked: list[Asked] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    """Lets slow answers end with the test."""

    def fault(self) -> str:
        if not self.faults:
            return ""
        return self.faults[0] if self.is_stuck else self.faults.pop(0)

    def breaks(self, fault: str) -> None:
        """From now on every request ends so."""
        self.faults, self.is_stuck = [fault], True

    def mends(self) -> None:
        self.faults, self.is_stuck = [], False

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of an engine that uses it."""
        base = {"openai": f"{self.url}/v1", "voyage": f"{self.url}/v1", "gemini": f"{self.url}/v1beta"}
        return {
            "embedding.provider": self.provider,
            "embedding.base_url": base.get(self.provider, self.url),
            "embedding.api_keys": ["key-one"],
        }


def words_to_vector(text: str, dimensions: int) -> list[float]:
    """A vector in which texts with common words are near."""
    vector = np.full(dimensions, 1e-3)
    for word in re.findall(r"\w+", text.lower()):
        vector[int(hashlib.sha256(word.encode()).hexdigest(), 16) % min(dimensions, 256)] += 1.0
    return [float(number) for number in vector]


def answer(service: Service, asked: Asked, fault: str) -> Any:
    """What the provider says, in its own form."""
    length = service.dimensions or GIVEN[service.provider]
    if service.provider in ("gemini", "voyage"):
        wanted = asked.body.get("output_dimension") or (asked.body.get("requests") or [{}])[0].get(
            "outputDimensionality"
        )
        length = wanted or length
    elif service.provider == "openai":
        length = asked.body.get("dimensions", length)
    texts = asked.texts
    vectors = [words_to_vector(text, 7 if fault == "wrong dimension" else length) for text in texts]
    if fault == "nan":
        vectors[-1][3] = float("nan")
    if fault == "zeros":
        vectors[-1] = [0.0] * length
    if fault == "one missing":
        vectors = vectors[:-1]
    if fault == "ragged":
        vectors[-1] = vectors[-1][:-2] if len(vectors) > 1 else ["a", "b"]  # type: ignore[list-item]
    if service.provider == "gemini":
        return {"embeddings": [{"values": vector} for vector in vectors]}
    if service.provider == "ollama":
        return {"model": asked.body["model"], "embeddings": vectors, "total_duration": 1, "prompt_eval_count": 1}
    coded: list[Any] = vectors
    if asked.body.get("encoding_format") == "base64":
        coded = [base64.b64encode(np.array(vector, "<f4").tobytes()).decode() for vector in vectors]
    rows = [{"object": "embedding", "index": at, "embedding": vector} for at, vector in enumerate(coded)]
    # The order of the rows means nothing; their index does.
    return {"object": "list", "data": rows[::-1], "model": asked.body["model"], "usage": {"total_tokens": 1}}


PATHS = {
    "openai": r"/v1/embeddings",
    "voyage": r"/v1/embeddings",
    "gemini": r"/v1beta/models/[^/:]+:batchEmbedContents",
    "ollama": r"/api/embed",
}
REFUSAL: dict[str, Callable[[str], dict[str, Any]]] = {
    "openai": lambda text: {"error": {"message": text, "type": "invalid_request_error", "code": None}},
    "voyage": lambda text: {"detail": text},
    "gemini": lambda text: {"error": {"code": 400, "message": text, "status": "INVALID_ARGUMENT"}},
    "ollama": lambda text: {"error": text},
}


def handler(service: Service) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked = Asked(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            service.asked.append(asked)
            if not re.fullmatch(PATHS[service.provider], self.path):
                return self.say(404, REFUSAL[service.provider](f"no such path {self.path}"))
            if asked.key in service.bad_keys:
                return self.say(401, REFUSAL[service.provider](f"Incorrect API key provided: {asked.key}"))
            return self.misbehave(asked, service.fault())

        def misbehave(self, asked: Asked, fault: str) -> None:
            refuse = REFUSAL[service.provider]
            if fault == "429":
                return self.say(429, refuse("Rate limit reached"), {"Retry-After": service.retry_after})
            if fault == "500":
                return self.say(500, refuse("The server had an error"))
            if fault == "400":
                return self.say(400, refuse("this input is not welcome"))
            if fault == "slow":
                service.released.wait(300)
            if fault == "bad json":
                return self.send(200, b'{"data": [')
            if fault == "a page":
                return self.send(200, b"<html>Please log in</html>", {"Content-Type": "text/html"})
            if fault == "another form":
                return self.say(200, {"result": "fine"})
            whole = json.dumps(answer(service, asked, fault)).encode()
            if fault == "truncated":
                self.send(200, whole[: len(whole) // 2], {"Content-Length": str(len(whole))})
                self.close_connection = True
                return None
            return self.send(200, whole)

        def say(self, status: int, plain: Any, headers: dict[str, str] | None = None) -> None:
            self.send(status, json.dumps(plain).encode(), headers)

        def send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
            about = {"Content-Type": "application/json", "Content-Length": str(len(body))} | (headers or {})
            try:
                self.send_response(status)
                for name, value in about.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)
            except OSError:
                self.close_connection = True  # whoever asked has left

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


Serve = Callable[[str], Service]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Starts providers: ``serve("voyage")``."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "OPENAI_BASE_URL", "OLLAMA_HOST"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name in ("OPENAI_API_KEY", "VOYAGE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    # These tests may run beside others: only what is about time gets little of it.
    monkeypatch.setattr("ricordo.models.http.REACH_SECONDS", 60.0)
    monkeypatch.setattr("ricordo.plugins.providers.http_embedder.QUERY_SECONDS", 60.0)
    running: list[tuple[Service, ThreadingHTTPServer, threading.Thread]] = []

    def start(provider: str) -> Service:
        service = Service(provider)
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler(service))
        server.daemon_threads = True
        service.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        running.append((service, server, thread))
        return service

    yield start
    for service, server, thread in running:
        service.released.set()
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(params=PROVIDERS)
def service(request: pytest.FixtureRequest, serve: Serve) -> Service:
    """Each provider in turn."""
    return serve(request.param)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long callers wanted to wait between attempts; nobody does."""
    waited: list[float] = []
    monkeypatch.setattr("ricordo.models.http.time.sleep", waited.append)
    return waited
