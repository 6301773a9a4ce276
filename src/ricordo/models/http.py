"""Requests to a service over HTTP: several keys, a few attempts, and a time limit for everything.

``Remote`` stands for one service. Whatever goes wrong becomes ``Unavailable`` (try again later) or ``ContractError``
(the service answered something unusable), with a hint. Callers decide what to ask and what an answer means. Requests
made with a service's own library go through ``Remote.call`` too.
"""

from __future__ import annotations

import re
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar

from ricordo.bounded import BoundedCall
from ricordo.errors import ContractError, Error, Unavailable

if TYPE_CHECKING:
    import httpx

ATTEMPTS = 3
REACH_SECONDS = 5.0
"""A service that is not reached within this time, host lookup and all attempts included, is given up."""
BACKOFF = (0.25, 1.0)
REQUEST_SECONDS = 60.0
"""How long one request may take, …"""
TOTAL_SECONDS = 120.0
"""… and the most that one call may take with all attempts and waits, unless the caller allows less."""

_Result = TypeVar("_Result")
Kind = Literal["unreachable", "slow", "busy", "broken", "key", "missing", "refused", "garbled"]
_here = threading.local()
"""Holds the event that the thread of a request sets once the service is reached."""
_WORTH_REPEATING: tuple[Kind, ...] = ("unreachable", "slow", "busy", "broken", "garbled")


class Trouble(Exception):  # noqa: N818 - never leaves this folder; what users see is an Error
    """Why one request failed. ``retry_after`` is how many seconds the service asks us to wait."""

    def __init__(self, kind: Kind, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.retry_after = retry_after


class KeyPool:
    """Several keys for one service: one is used until it is refused, then the next. Shared between threads."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = tuple(keys) or ("",)
        self._at = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def current(self) -> str:
        return self._keys[self._at]

    @property
    def are_printable(self) -> bool:
        """Whether all can be sent in a header."""
        return all(key.isascii() and key.isprintable() for key in self._keys)

    def pass_over(self, key: str) -> None:
        """Go on to the next key, unless another thread has done so already."""
        with self._lock:
            if self._keys[self._at] == key:
                self._at = (self._at + 1) % len(self._keys)

    def mask(self, text: str) -> str:
        """The text with all keys hidden: services like to quote them in errors."""
        for key in filter(None, self._keys):
            text = text.replace(key, "***")
        return text


def bearer(key: str) -> dict[str, str]:
    """The usual header for a key; no header without a key."""
    return {"Authorization": f"Bearer {key}"} if key else {}


class Remote:
    """One service: where it is, its keys, and how long it may take.

    ``section`` is the group of settings that hints name; ``without`` ends every hint and says how to do without it.

    >>> remote = Remote("voyage", "https://api.voyageai.com/v1", keys=("a key",), key_variable="VOYAGE_API_KEY")
    >>> remote.post("embeddings", {"model": "voyage-3.5", "input": ["a text"]})  # doctest: +SKIP
    """

    def __init__(
        self,
        name: str,
        base_url: str,
        *,
        keys: Sequence[str] = (),
        key_variable: str = "",
        needs_key: bool = False,
        section: str = "embedding",
        without: str = "",
        headers: Callable[[str], Mapping[str, str]] = bearer,
    ) -> None:
        self.name = name
        self.base_url = base_url.rstrip("/")
        self.keys = KeyPool(keys)
        self.seconds = REQUEST_SECONDS
        self._variable = key_variable
        self._needs_key = needs_key
        self._section = section
        self._without = without
        self._headers = headers
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None

    @property
    def client(self) -> httpx.Client:
        """The HTTP client, which keeps its connections between requests."""
        with self._lock:
            if self._client is None:
                import httpx

                timeout = httpx.Timeout(self.seconds, connect=REACH_SECONDS)
                self._client = httpx.Client(timeout=timeout, event_hooks={"request": [watch]})
                weakref.finalize(self, self._client.close)
            return self._client

    def post(self, path: str, body: Mapping[str, Any], *, budget: float = TOTAL_SECONDS) -> Any:
        """Send JSON to a path below the service's address; returns the JSON of the answer."""
        client, url = self.client, f"{self.base_url}/{path}"

        def ask(key: str, seconds: float) -> Any:
            limits = timeouts(seconds)
            return answered(lambda: client.post(url, json=body, headers=self._headers(key), timeout=limits))

        return self.call(ask, budget=budget)

    def call(self, ask: Callable[[str, float], _Result], *, budget: float = TOTAL_SECONDS) -> _Result:
        """Call ``ask``, and repeat it where that may help, for no longer than ``budget`` seconds in all.

        ``ask`` gets a key and the seconds it has, and raises ``Trouble`` if it fails. It runs in a thread of its own,
        which is left behind when the time is up: the time limits of HTTP libraries cover neither slow host lookups
        nor answers that arrive byte by byte.
        """
        self._check_keys()
        started = time.monotonic()
        attempt = 0
        while True:
            try:
                return self._ask_with_any_key(ask, started + budget)
            except Trouble as trouble:
                wait = BACKOFF[min(attempt, len(BACKOFF) - 1)] if trouble.retry_after is None else trouble.retry_after
                ends = started + (min(budget, REACH_SECONDS) if trouble.kind == "unreachable" else budget)
                attempt += 1
                too_late = time.monotonic() + wait >= ends
                if trouble.kind not in _WORTH_REPEATING or attempt == ATTEMPTS or too_late:
                    self._give_up(trouble)
                time.sleep(wait)

    def _check_keys(self) -> None:
        """Raise an error for keys that no service would accept, before anything is sent."""
        if self._needs_key and not self.keys.current:
            where = self._variable or f"{self._section}.api_keys"
            raise Unavailable(f"{self.name} needs a key, and {where} is not set", hint=self._hint("key"))
        if not self.keys.are_printable:
            raise Unavailable(
                f"{self.name}: a key contains characters that cannot be part of one", hint=self._hint("key")
            )

    def _ask_with_any_key(self, ask: Callable[[str, float], _Result], deadline: float) -> _Result:
        """Try each key once, because another key may work where one is refused."""
        soonest: float | None = None
        for tries_left in reversed(range(len(self.keys))):
            key = self.keys.current
            try:
                return _bounded(ask, key, min(self.seconds, deadline - time.monotonic()))
            except Trouble as trouble:
                if trouble.kind not in ("busy", "key"):
                    raise
                self.keys.pass_over(key)
                waits = [wait for wait in (soonest, trouble.retry_after) if wait is not None]
                soonest = trouble.retry_after = min(waits, default=None)
                if not tries_left or time.monotonic() >= deadline:
                    raise
        raise AssertionError("a pool holds at least one key")

    def _give_up(self, trouble: Trouble) -> NoReturn:
        """Raise the error that the user sees."""
        message = f"{self.name}: {self.keys.mask(trouble.message)}"
        if trouble.retry_after is not None and trouble.kind == "busy":
            message += f" (it asks to wait {trouble.retry_after:.0f} s)"
        kind: type[Error] = ContractError if trouble.kind in ("refused", "garbled") else Unavailable
        raise kind(message, hint=self._hint(trouble.kind)) from trouble

    def _hint(self, kind: Kind) -> str:
        section = self._section
        keys = f"{self._variable} or {section}.api_keys" if self._variable else f"{section}.api_keys"
        first = {
            "unreachable": f"Check the network and {section}.base_url ({self.base_url}).",
            "slow": "Try again later.",
            "busy": f"Try again later, or give several keys in {section}.api_keys.",
            "broken": "Try again later.",
            "key": f"Set {keys} to a key that it accepts.",
            "missing": f"Check {section}.model and {section}.base_url ({self.base_url}).",
            "refused": f"Check the [{section}] settings.",
            "garbled": f"Check that {section}.base_url ({self.base_url}) is the right service.",
        }[kind]
        return f"{first} {self._without}".strip()


def timeouts(seconds: float) -> httpx.Timeout:
    """httpx's time limits for a request that may take this many seconds."""
    import httpx

    return httpx.Timeout(seconds, connect=min(seconds, REACH_SECONDS))


def answered(send: Callable[[], httpx.Response]) -> Any:
    """The JSON of the answer to a request; anything else becomes ``Trouble``."""
    import httpx

    try:
        response = send()
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise trouble_of(error) from error
    if response.status_code != 200:
        raise trouble_in(response)
    try:
        return response.json()
    except ValueError as error:
        raise Trouble("garbled", f"its answer is not JSON: {_line(response.text)!r}") from error


def trouble_of(error: Exception) -> Trouble:
    """What an error of httpx means."""
    import httpx

    said = _line(str(error)) or type(error).__name__
    if isinstance(error, (httpx.InvalidURL, httpx.UnsupportedProtocol)):
        return Trouble("missing", f"its address is not valid: {said}")
    if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError)):
        return Trouble("unreachable", f"cannot be reached: {said}")
    if isinstance(error, httpx.TimeoutException):
        return Trouble("slow", "did not answer in time")
    if isinstance(error, (httpx.RemoteProtocolError, httpx.DecodingError)):
        return Trouble("garbled", f"its answer broke off: {said}")
    return Trouble("broken", f"the connection failed: {said}")


def trouble_in(response: httpx.Response) -> Trouble:
    """What an answer other than success means."""
    status = response.status_code
    kinds: dict[int, Kind] = {401: "key", 403: "key", 404: "missing", 408: "slow", 429: "busy"}
    kind = kinds.get(status, "broken" if status >= 500 else "refused")
    if status == 400 and "API_KEY_INVALID" in response.text:  # how Google refuses a key
        kind = "key"
    said = _said(response)
    return Trouble(kind, f"answered {status}{f': {said}' if said else ''}", _retry_after(response))


def _bounded(ask: Callable[[str, float], _Result], key: str, seconds: float) -> _Result:
    """Call ``ask`` in a thread and wait for its end; if the service is not even reached, give up much earlier."""
    reached = threading.Event()

    def work() -> _Result:
        _here.reached = reached
        return ask(key, seconds)

    call = BoundedCall(work, "ricordo-request")
    at_first = min(seconds, REACH_SECONDS)
    if not call.wait(at_first) and not (reached.is_set() and call.wait(seconds - at_first)):
        if reached.is_set():
            raise Trouble("slow", f"did not answer within {seconds:.3g} s")
        raise Trouble("unreachable", f"cannot be reached within {at_first:.3g} s")
    return call.result()


def watch(request: httpx.Request) -> None:
    """Set the event of this thread as soon as its request is being sent, because the service is reached then."""
    reached: threading.Event | None = getattr(_here, "reached", None)

    def note(event: str, _: object) -> None:
        if reached is not None and event.endswith("send_request_headers.started"):
            reached.set()

    request.extensions["trace"] = note


def _said(response: httpx.Response) -> str:
    """The reason that an error's body gives, in one line."""
    try:
        body = response.json()
    except ValueError:
        return _line(response.text)
    found = body[0] if isinstance(body, list) and body else body
    for name in ("error", "message", "detail"):
        if isinstance(found, dict) and name in found:
            found = found[name]
    return _line(found if isinstance(found, str) else str(found))


def _retry_after(response: httpx.Response) -> float | None:
    """How many seconds the service asks us to wait: a number or a date in a header, or in the body (Google)."""
    text = response.headers.get("retry-after", "").strip()
    if not text:
        found = re.search(r'"retryDelay":\s*"([0-9]+(?:[.][0-9]*)?)s"', response.text)
        return float(found[1]) if found else None
    from ricordo.values.times import parse_retry_after

    return parse_retry_after(text)


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 200 else f"{line[:199]}…"
