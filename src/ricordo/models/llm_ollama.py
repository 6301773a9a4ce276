"""Models on the user's own machine, through the HTTP interface of Ollama: one request, one answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import uuid4

from ricordo.models.base import ToolCall
from ricordo.models.http import Remote, answered, bearer
from ricordo.models.llm import ModelRequest, WireAnswer, as_function, understood

DEFAULT_MODEL = "llama3.2"
DEFAULT_URL = "http://localhost:11434"
WINDOW_TOKENS = 16_384
"""The window we ask for: Ollama's default is so small that it would drop the start of our prompts silently."""


class OllamaWire:
    """Asks ``/api/chat``."""

    def __init__(self, model: str, remote: Remote, *, max_tokens: int) -> None:
        self._model = model
        self._remote = remote
        self._max_tokens = max_tokens

    def send(self, ask: ModelRequest, key: str, seconds: float) -> WireAnswer:
        """One request."""
        url = f"{self._remote.base_url}/api/chat"
        client = self._remote.client
        body = self._body(ask)
        raw = answered(lambda: client.post(url, json=body, headers=bearer(key), timeout=seconds))
        return understood(_turn, raw)

    def _body(self, ask: ModelRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "stream": False,
            "options": {"num_predict": self._max_tokens, "num_ctx": WINDOW_TOKENS},
            "messages": list(_messages(ask)),
        }
        if ask.schema is not None:
            body["format"] = dict(ask.schema)
        elif ask.tools:
            body["tools"] = [as_function(tool) for tool in ask.tools]
        return body


def _messages(ask: ModelRequest) -> Iterator[dict[str, Any]]:
    for message in ask.messages:
        plain: dict[str, Any] = {"role": message.role, "content": message.text}
        if message.answers is not None:
            plain["tool_name"] = message.answers.name
        if message.tool_calls:
            plain["tool_calls"] = [
                {"function": {"name": call.name, "arguments": dict(call.arguments)}} for call in message.tool_calls
            ]
        yield plain


def _turn(raw: Mapping[str, Any]) -> WireAnswer:
    message = raw["message"]
    calls = message.get("tool_calls") or ()
    return WireAnswer(
        text=message.get("content") or "",
        tool_calls=tuple(map(_call, calls)),
        input_tokens=int(raw.get("prompt_eval_count") or 0),
        output_tokens=int(raw.get("eval_count") or 0),
        cut=raw.get("done_reason") == "length",
    )


def _call(call: Mapping[str, Any]) -> ToolCall:
    """A tool call; if Ollama gives it no id, it gets a unique one."""
    function = call["function"]
    arguments = function.get("arguments")
    return ToolCall(call.get("id") or f"call-{uuid4().hex[:12]}", function["name"], arguments or {})
