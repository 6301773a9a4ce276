"""GPT, and every service with the same interface (vLLM, LM Studio, Gemini), through OpenAI's library.

One request, one answer. The caller handles attempts and keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ricordo.errors import MissingExtra
from ricordo.models.base import ToolCall
from ricordo.models.http import Trouble
from ricordo.models.llm import ModelRequest, WireAnswer, as_function, understood
from ricordo.models.sdk import SdkClients

DEFAULT_MODEL = "gpt-5-mini"


class OpenAIWire:
    """Asks for chat completions."""

    def __init__(self, model: str, *, base_url: str, max_tokens: int) -> None:
        try:
            import openai
        except ImportError:
            raise MissingExtra("openai", "OpenAI-compatible models") from None
        self._clients = SdkClients(openai, "OpenAI", base_url)
        self._model = model
        self._max_tokens = max_tokens
        self._takes_old_names = bool(base_url)

    def send(self, ask: ModelRequest, key: str, seconds: float) -> WireAnswer:
        """One request."""
        # The library insists on a key, although most servers on the user's own machine need none.
        client = self._clients.of(key or "none")
        body, timeout = self._body(ask), self._clients.timeout(seconds)
        api = client.chat.completions.with_raw_response
        return understood(_turn, self._clients.asked(lambda: api.create(**body, timeout=timeout)))

    def _body(self, ask: ModelRequest) -> dict[str, Any]:
        # OpenAI has renamed this field; other services still use the old name.
        longest = "max_tokens" if self._takes_old_names else "max_completion_tokens"
        body: dict[str, Any] = {
            "model": self._model,
            longest: self._max_tokens,
            "messages": list(_messages(ask)),
        }
        if ask.schema is not None:
            asked_for = {"name": "answer", "schema": dict(ask.schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": asked_for}
        elif ask.tools:
            body["tools"] = [as_function(tool) for tool in ask.tools]
        return body


def _messages(ask: ModelRequest) -> Iterator[dict[str, Any]]:
    for message in ask.messages:
        plain: dict[str, Any] = {"role": message.role, "content": message.text}
        if message.answers is not None:
            plain["tool_call_id"] = message.answers.id
        if message.tool_calls:
            plain["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))},
                }
                for call in message.tool_calls
            ]
        yield plain


def _turn(raw: Mapping[str, Any]) -> WireAnswer:
    choice = raw["choices"][0]
    message = choice["message"]
    if message.get("refusal"):
        raise Trouble("refused", f"declined to answer: {message['refusal']}")
    usage = raw.get("usage") or {}
    return WireAnswer(
        text=message.get("content") or "",
        tool_calls=tuple(_call(call) for call in message.get("tool_calls") or ()),
        input_tokens=int(usage.get("prompt_tokens") or 0),
        output_tokens=int(usage.get("completion_tokens") or 0),
        cut=choice.get("finish_reason") == "length",
    )


def _call(call: Mapping[str, Any]) -> ToolCall:
    """A tool call. Arguments that are not a JSON object become empty, so that the model is told what is missing."""
    function = call["function"]
    try:
        arguments = json.loads(function.get("arguments") or "{}")
    except ValueError:
        arguments = {}
    return ToolCall(call["id"], function["name"], arguments if isinstance(arguments, dict) else {})
