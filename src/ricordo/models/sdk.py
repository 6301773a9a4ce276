"""Adapts the libraries of OpenAI and Anthropic to ``http.Remote``: one attempt, raw JSON, and failures as ``Trouble``.

On their own, the libraries retry, wait as long as a service says, and send the key along when they follow a redirect.
All of that is switched off here. Both libraries come from the same generator, so one module serves them.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Callable
from typing import Any

from ricordo.models.http import REACH_SECONDS, Kind, Trouble, trouble_in, watch

_MEANING: dict[str, tuple[Kind, str]] = {
    # Compared by name, because the libraries bring their own copy of the HTTP client.
    "ConnectTimeout": ("unreachable", "cannot be reached in time"),
    "ConnectError": ("unreachable", "cannot be reached"),
    "ProxyError": ("unreachable", "cannot be reached"),
    "UnsupportedProtocol": ("missing", "its address is not valid"),
    "InvalidURL": ("missing", "its address is not valid"),
    "TimeoutException": ("slow", "did not answer in time"),
    "APITimeoutError": ("slow", "did not answer in time"),
    "RemoteProtocolError": ("garbled", "its answer broke off"),
    "DecodingError": ("garbled", "its answer broke off"),
}


class SdkClients:
    """A library's clients, one per key, closed with this object."""

    def __init__(self, sdk: Any, name: str, base_url: str) -> None:
        self._sdk = sdk
        self._make = getattr(sdk, name)
        self._base_error: type[Exception] = getattr(sdk, f"{name}Error")
        self._base_url = base_url or None
        self._made: dict[str, Any] = {}

    def of(self, key: str) -> Any:
        """The client that uses this key."""
        if key not in self._made:
            web = self._sdk.DefaultHttpxClient(follow_redirects=False, event_hooks={"request": [watch]})
            weakref.finalize(self, web.close)
            try:
                self._made[key] = self._make(api_key=key, base_url=self._base_url, max_retries=0, http_client=web)
            except (self._base_error, ValueError) as error:  # an address or a key that the library does not accept
                raise Trouble("refused", f"{type(error).__name__}: {error}") from error
        return self._made[key]

    def timeout(self, seconds: float) -> Any:
        return self._sdk.Timeout(seconds, connect=min(REACH_SECONDS, seconds))

    def asked(self, send: Callable[[], Any]) -> Any:
        """The JSON object of the answer to a raw request."""
        try:
            raw = send()
        except self._sdk.APIStatusError as error:
            raise trouble_in(error.response) from error
        except self._sdk.APIConnectionError as error:
            raise _meaning(error) from error
        text = raw.http_response.text
        try:
            answer = json.loads(text)
        except ValueError as error:
            raise Trouble("garbled", f"its answer is not JSON: {' '.join(text.split())[:200]!r}") from error
        if not isinstance(answer, dict):
            raise Trouble("garbled", "its answer is not a JSON object")
        return answer


def _meaning(error: BaseException) -> Trouble:
    """Why a request got no answer: decided by the error and by the errors that caused it."""
    cause: BaseException | None = error
    chain: list[BaseException] = []
    while cause is not None and len(chain) < 10:
        chain.append(cause)
        cause = cause.__cause__
    for one in reversed(chain):
        for kind in type(one).__mro__:
            if kind.__name__ in _MEANING:
                found, said = _MEANING[kind.__name__]
                about = " ".join(str(one).split())[:200]
                return Trouble(found, f"{said}: {about}" if about and found != "slow" else said)
    return Trouble("broken", f"the connection failed: {' '.join(str(chain[-1]).split())[:200]}")
