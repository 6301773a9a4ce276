"""Answers a client's first requests before the rest of the program is loaded, and then hands the conversation over.

Clients ask for the tools as soon as a server starts, and some send their first request to the model without the tools
of a server that takes long. What they ask for first is known (``known``), so a thread reads the lines and answers those
requests, while everything else waits for the server of the SDK. That one is loaded when it is needed, or when the
client has what it wants to know first; then it takes over, and this thread only passes lines on.
"""

from __future__ import annotations

import os
import sys
import threading
from _queue import Empty, SimpleQueue  # the module queue imports more
from collections.abc import Mapping, Sequence

from ricordo.mcp_server.known import Answers, choices_in, page_path, read_record, record_path

TYPE_CHECKING = False  # type checkers take it for true; importing typing would cost a client milliseconds
if TYPE_CHECKING:
    from typing import Any, BinaryIO

QUIET_SECONDS = 0.3
"""After the tools were listed, the rest is loaded when the client has asked for nothing for this long."""
LATEST_SECONDS = 3.0
"""The same for a client that has not asked for the tools."""
LISTED, ANSWERED, NEEDED, ENDED = range(4)
"""What a line brought about: tools were listed, another answer, something for the rest of the program, the end."""

_active: Front | None = None


def begin(args: Sequence[str]) -> None:
    """Answer what can be answered; come back when the rest of the program is needed, or at once if nothing is known.

    If the client leaves before that, the process ends here.
    """
    global _active
    chosen = choices_in(args)
    answers = read_record(record_path(chosen, os.environ)) if chosen is not None else None
    if answers is None:
        return
    _active = Front(First(answers, read_record(page_path(args, os.environ)) or {}), *claim_streams())
    if not _active.wait():
        sys.stderr.flush()
        os._exit(0)


def taken_over() -> tuple[Lines | BinaryIO, BinaryIO, Mapping[str | int, str]]:
    """Where the server reads and writes from now on, and the answers that were given before, by request."""
    front = _active
    if front is None:
        return (*claim_streams(), {})
    return front.hand_over()


def claim_streams() -> tuple[BinaryIO, BinaryIO]:
    """The process's input and output for the protocol alone.

    From now on descriptor 0 reads nothing, and descriptor 1 leads to standard error: what other code prints cannot
    get between the messages.
    """
    sys.stdout.flush()
    reader, writer = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return reader, writer


class Lines:
    """The lines that are for the server of the SDK, as it reads them."""

    def __init__(self) -> None:
        self._lines: SimpleQueue[bytes] = SimpleQueue()

    def put(self, line: bytes) -> None:
        self._lines.put(line)

    def readline(self) -> bytes:
        """The next line; nothing at the end of the input."""
        return self._lines.get()


class Front:
    """Reads lines in a thread of its own; answers those that it can, and passes on the others."""

    def __init__(self, first: First, reader: BinaryIO, writer: BinaryIO) -> None:
        self._first = first
        self._reader = reader
        self._writer = writer
        self._lines = Lines()
        self._events: SimpleQueue[int] = SimpleQueue()
        self._turn = threading.Lock()
        self._is_over = False
        threading.Thread(target=self._read, name="ricordo-front", daemon=True).start()

    def wait(self) -> bool:
        """Whether the rest of the program is needed; False when the client left before it was."""
        patience = LATEST_SECONDS
        while True:
            try:
                event = self._events.get(timeout=patience)
            except Empty:
                return True
            if event == LISTED:
                patience = QUIET_SECONDS
            elif event in (NEEDED, ENDED):
                return event == NEEDED

    def hand_over(self) -> tuple[Lines, BinaryIO, Mapping[str | int, str]]:
        """Answer nothing any more; an answer that is being written is finished first."""
        with self._turn:
            self._is_over = True
        return self._lines, self._writer, self._first.given

    def _read(self) -> None:
        while line := self._reader.readline():
            with self._turn:
                is_over = self._is_over
                if not is_over:
                    self._events.put(self._answer(line))
            if is_over:
                self._lines.put(line)
        self._lines.put(b"")
        self._events.put(ENDED)

    def _answer(self, line: bytes) -> int:
        answer, event, is_passed_on = self._first.answer(line)
        if is_passed_on:
            self._lines.put(line)
        if answer:
            try:
                self._write(answer)
            except OSError:  # the client is gone; the end of its input comes next
                return ANSWERED
        return event

    def _write(self, answer: bytes) -> None:
        rest = memoryview(answer)
        while rest:
            rest = rest[self._writer.write(rest) :]


class First:
    """What is answered to each line of a conversation's beginning. It knows how far the conversation is."""

    def __init__(self, answers: Answers, pages: Answers) -> None:
        self._answers = answers
        self._pages = pages
        self._version = ""
        self._is_ready = False
        self.given: dict[str | int, str] = {}
        """What was answered to requests that the server of the SDK gets, too; its own answers are not sent again."""

    def answer(self, line: bytes) -> tuple[bytes, int, bool]:
        """The answer, empty if there is none; what the line brought about; and whether it is passed on."""
        import json

        try:
            message: Any = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return b"", NEEDED, True
        method = message.get("method") if isinstance(message, dict) and message.get("jsonrpc") == "2.0" else None
        if not isinstance(method, str):
            return b"", NEEDED, True
        if "id" not in message:
            self._is_ready = self._is_ready or (bool(self._version) and method == "notifications/initialized")
            return b"", ANSWERED, True
        known = self._known(method, message)
        if known is None:
            return b"", NEEDED, True
        answer = f'{{"jsonrpc":"2.0","id":{json.dumps(message["id"], ensure_ascii=False)},"result":{known}}}\n'
        event = LISTED if method == "tools/list" else ANSWERED
        return answer.encode("utf-8", "replace"), event, message["id"] in self.given

    def _known(self, method: str, message: Mapping[str, Any]) -> str | None:
        request, params = message["id"], message.get("params")
        if not isinstance(request, str | int) or isinstance(request, bool):
            return None
        if not self._version:
            version = _greeting(params) if method == "initialize" else ""
            if version in self._answers:
                self._version = version
                self.given[request] = self._answers[version][method]
                return self.given[request]
            return None
        if not self._is_ready or not _is_plain(params) or method == "initialize" or request in self.given:
            return None
        page = self._pages.get(self._version, {}).get(method)
        if page is not None:
            self.given[request] = page
        return page or self._answers[self._version].get(method)


def _greeting(params: Any) -> str:
    """The version that a request to begin names; empty unless all of it is as it should be."""
    if not isinstance(params, dict) or not isinstance(params.get("capabilities"), dict):
        return ""
    client, version = params.get("clientInfo"), params.get("protocolVersion")
    if not isinstance(client, dict) or not all(isinstance(client.get(name), str) for name in ("name", "version")):
        return ""
    return version if isinstance(version, str) and _is_simple(params["capabilities"]) else ""


def _is_simple(value: Any) -> bool:
    """Whether there are only objects and truth values in it, as in what a client says it can do."""
    return isinstance(value, bool) or (isinstance(value, dict) and all(map(_is_simple, value.values())))


def _is_plain(params: Any) -> bool:
    """Whether a request for a list has no parameters but a token for progress, which no list reports."""
    if params is None or params == {}:
        return True
    if not isinstance(params, dict) or set(params) != {"_meta"} or not isinstance(params["_meta"], dict):
        return False
    return set(params["_meta"]) <= {"progressToken"}
