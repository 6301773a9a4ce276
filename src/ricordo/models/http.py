"""Requests to a service over HTTP: several keys, a few attempts, and a time limit for everything.

``Remote`` stands for one service. Whatever goes wrong becomes ``Unavailable`` (try again later) or ``ContractError``
(the service answered something unusable), with a hint. Callers decide what to ask and what an answer means.
"""

from __future__ import annotations

import re
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar

from ricordo.bounded import BoundedCall
from ricordo.errors import ContractError, Error, Unavailable

if TYPE_CHECKING:
    import ssl

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
_WORTH_REPEATING: tuple[Kind, ...] = ("unreachable", "slow", "busy", "broken", "garbled")


class Trouble(Exception):  # noqa: N818 - never leaves this folder; what users see is an Error
    """Why one request failed. ``retry_after`` is how many seconds the service asks us to wait."""

    def __init__(self, kind: Kind, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.retry_after = retry_after


def bearer(key: str) -> dict[str, str]:
    """The usual header for a key; no header without a key."""
    return {"Authorization": f"Bearer {key}"} if key else {}


@cache
def _trusted() -> ssl.SSLContext:
    """The certificates that are trusted; to read them takes longer than many requests do."""
    import httpx

    return httpx.create_ssl_context()


class Remote:
    """One service: where it is, its keys, and how long it may take. It is shared between threads.

    ``section`` is the group of settings that hints name; ``without`` ends every hint and says how to do without it. Of
    several keys, one is used until it is refused, then the next.

    >>> remote = Remote("voyage", "https://api.voyageai.com/v1", keys=("a key",), key_variable="VOYAGE_API_KEY")
    >>> remote.post("embeddings", {"model": "voyage-3.5", "input": ["a text"]}, dict)  # doctest: +SKIP
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
        self.seconds = REQUEST_SECONDS
        self._keys = tuple(keys) or ("",)
        self._key_index = 0
        self._variable = key_variable
        self._needs_key = needs_key
        self._section = section
        self._without = without
        self._headers = headers
        self._lock = threading.Lock()

    @cached_property
    def _client(self) -> httpx.Client:
        import httpx

        client = httpx.Client(verify=_trusted())
        weakref.finalize(self, client.close)
        return client

    def post(
        self, path: str, body: Mapping[str, Any], read: Callable[[Any], _Result], *, budget: float = TOTAL_SECONDS
    ) -> _Result:
        """Send JSON to a path below the service's address; ``read`` makes the result of the answer's JSON.

        The request is repeated where that may help, for no longer than ``budget`` seconds in all.
        """
        if self._needs_key and not self._keys[0]:
            where = self._variable or f"{self._section}.api_keys"
            raise Unavailable(f"{self.name} needs a key, and {where} is not set", hint=self._hint("key"))
        if not all(key.isascii() and key.isprintable() for key in self._keys):
            raise Unavailable(
                f"{self.name}: a key contains characters that cannot be part of one", hint=self._hint("key")
            )
        started = time.monotonic()
        attempt = 0
        while True:
            try:
                return self._post_with_any_key(path, body, read, started + budget)
            except Trouble as trouble:
                wait = BACKOFF[min(attempt, len(BACKOFF) - 1)] if trouble.retry_after is None else trouble.retry_after
                ends = started + (min(budget, REACH_SECONDS) if trouble.kind == "unreachable" else budget)
                attempt += 1
                too_late = time.monotonic() + wait >= ends
                if trouble.kind not in _WORTH_REPEATING or attempt == ATTEMPTS or too_late:
                    self._give_up(trouble)
                time.sleep(wait)

    def _post_with_any_key(
        self, path: str, body: Mapping[str, Any], read: Callable[[Any], _Result], deadline: float
    ) -> _Result:
        """Try each key once, because another key may work where one is refused."""
        soonest: float | None = None
        for tries_left in reversed(range(len(self._keys))):
            index = self._key_index
            try:
                seconds = min(self.seconds, deadline - time.monotonic())
                return self._post_once(path, body, read, key=self._keys[index], seconds=seconds)
            except Trouble as trouble:
                if trouble.kind not in ("busy", "key"):
                    raise
                with self._lock:
                    if self._key_index == index:  # no other thread has gone on to the next key
                        self._key_index = (index + 1) % len(self._keys)
                waits = [wait for wait in (soonest, trouble.retry_after) if wait is not None]
                soonest = trouble.retry_after = min(waits, default=None)
                if not tries_left or time.monotonic() >= deadline:
                    raise
        raise AssertionError("there is at least one key")

    def _post_once(
        self, path: str, body: Mapping[str, Any], read: Callable[[Any], _Result], *, key: str, seconds: float
    ) -> _Result:
        """Send one request from a thread of its own, which is left behind when the time is up.

        The time limits of HTTP libraries cover neither slow host lookups nor answers that arrive byte by byte. A
        service that is not even reached is given up much earlier.
        """
        import httpx

        reached = threading.Event()

        def trace(event: str, _: object) -> None:
            if event.endswith("send_request_headers.started"):
                reached.set()

        timeout = httpx.Timeout(seconds, connect=min(seconds, REACH_SECONDS))
        send = partial(self._client.post, f"{self.base_url}/{path}", json=body, headers=self._headers(key))
        call = BoundedCall(lambda: send(timeout=timeout, extensions={"trace": trace}), "ricordo-request")
        at_first = min(seconds, REACH_SECONDS)
        if not call.wait(at_first) and not (reached.is_set() and call.wait(seconds - at_first)):
            if reached.is_set():
                raise Trouble("slow", f"did not answer within {seconds:.3g} s")
            raise Trouble("unreachable", f"cannot be reached within {at_first:.3g} s")
        try:
            response = call.result()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise trouble_of(error) from error
        if response.status_code != 200:
            raise trouble_in(response)
        try:
            data = response.json()
        except ValueError as error:
            raise Trouble("garbled", f"its answer is not JSON: {_line(response.text)!r}") from error
        try:
            return read(data)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise Trouble("garbled", f"its answer is not of the expected form: {_line(str(data))}") from error

    def _give_up(self, trouble: Trouble) -> NoReturn:
        """Raise the error that the user sees, without keys: services like to quote them."""
        message = f"{self.name}: {trouble.message}"
        for key in filter(None, self._keys):
            message = message.replace(key, "***")
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


def ollama_address(address: str) -> str:
    """``OLLAMA_HOST`` as Ollama itself reads it; empty stays empty."""
    scheme, separator, rest = address.strip().rpartition("://")
    host = rest.rstrip("/").replace("0.0.0.0", "127.0.0.1")
    if not host:
        return ""
    return f"{scheme or 'http'}://{host}" if ":" in host or separator else f"http://{host}:11434"


def trouble_of(error: Exception) -> Trouble:
    """What an error of httpx means."""
    import httpx

    reason = _line(str(error)) or type(error).__name__
    if isinstance(error, (httpx.InvalidURL, httpx.UnsupportedProtocol)):
        return Trouble("missing", f"its address is not valid: {reason}")
    if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError)):
        return Trouble("unreachable", f"cannot be reached: {reason}")
    if isinstance(error, httpx.TimeoutException):
        return Trouble("slow", "did not answer in time")
    if isinstance(error, (httpx.RemoteProtocolError, httpx.DecodingError)):
        return Trouble("garbled", f"its answer broke off: {reason}")
    return Trouble("broken", f"the connection failed: {reason}")


def trouble_in(response: httpx.Response) -> Trouble:
    """What an answer other than success means."""
    status = response.status_code
    kinds: dict[int, Kind] = {401: "key", 403: "key", 404: "missing", 408: "slow", 429: "busy"}
    kind = kinds.get(status, "broken" if status >= 500 else "refused")
    if status == 400 and "API_KEY_INVALID" in response.text:  # how Google refuses a key
        kind = "key"
    reason = _reason(response)
    return Trouble(kind, f"answered {status}{f': {reason}' if reason else ''}", _retry_after(response))


def _reason(response: httpx.Response) -> str:
    """The reason that an error's body gives, in one line."""
    try:
        body = response.json()
    except ValueError:
        return _line(response.text)
    reason = body[0] if isinstance(body, list) and body else body
    for name in ("error", "message", "detail"):
        if isinstance(reason, dict) and name in reason:
            reason = reason[name]
    return _line(reason if isinstance(reason, str) else str(reason))


def _retry_after(response: httpx.Response) -> float | None:
    """How many seconds the service asks us to wait: a number or a date in a header, or in the body (Google)."""
    text = response.headers.get("retry-after", "").strip()
    if not text:
        delay = re.search(r'"retryDelay":\s*"([0-9]+(?:[.][0-9]*)?)s"', response.text)
        return float(delay[1]) if delay else None
    from ricordo.values.times import parse_retry_after

    return parse_retry_after(text)


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 200 else f"{line[:199]}…"
