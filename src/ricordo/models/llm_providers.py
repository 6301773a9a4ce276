"""Finds the language model that the settings name: provider, address, keys and price. Nothing is sent here."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ricordo.config.settings import LlmSettings
from ricordo.errors import Unavailable
from ricordo.frozen import frozen
from ricordo.models import llm_anthropic, llm_ollama, llm_openai
from ricordo.models.base import LLM
from ricordo.models.http import Remote
from ricordo.models.llm import LlmWire, Price, ProvidedLLM, price_of

WITHOUT = "Or set llm.provider to none."
_GEMINI = "generativelanguage.googleapis.com"


@frozen
class LlmProvider:
    """A provider: its address, the environment variables that its own tools read, and its default model."""

    url: str
    url_variable: str
    key_variable: str
    model: str


PROVIDERS: Mapping[str, LlmProvider] = {
    "anthropic": LlmProvider(
        "https://api.anthropic.com", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", llm_anthropic.DEFAULT_MODEL
    ),
    "openai": LlmProvider("https://api.openai.com/v1", "OPENAI_BASE_URL", "OPENAI_API_KEY", llm_openai.DEFAULT_MODEL),
    "ollama": LlmProvider(llm_ollama.DEFAULT_URL, "OLLAMA_HOST", "OLLAMA_API_KEY", llm_ollama.DEFAULT_MODEL),
}


def provided(settings: LlmSettings, env: Mapping[str, str] | None = None) -> LLM:
    """The language model that the settings name; what is missing is an error before anything is imported or sent."""
    env = os.environ if env is None else env
    name = settings.provider
    if name == "none":
        raise Unavailable(
            "no language model is set", hint="Set llm.provider to anthropic, openai or ollama (docs/llm.md)."
        )
    provider = PROVIDERS[name]
    elsewhere = _address(settings.base_url or env.get(provider.url_variable, ""))
    variable = "GEMINI_API_KEY" if _GEMINI in elsewhere else provider.key_variable
    keys = settings.api_keys or tuple(filter(None, [env.get(variable, "").strip()]))
    if not keys and (name == "anthropic" or (name == "openai" and (not elsewhere or _GEMINI in elsewhere))):
        raise Unavailable(
            f"the language model has no key: {variable} is not set",
            hint=f"Set {variable} or llm.api_keys. {WITHOUT}",
        )
    if name == "openai" and elsewhere and not settings.model:
        raise Unavailable(
            "llm.model is not set, and the models of your own server are not known here",
            hint="Set llm.model to a name that the server at llm.base_url lists.",
        )
    model = settings.model or provider.model
    remote = Remote(
        f"{name} ({model})",
        elsewhere or provider.url,
        keys=keys,
        key_variable=variable,
        section="llm",
        seconds=settings.seconds,
        without=WITHOUT,
    )
    price = price_of(model, settings.input_price, settings.output_price)
    if name == "ollama" and price is None:
        price = Price(0.0, 0.0)
    wire = _wire(name, model, elsewhere, remote, settings.max_tokens)
    return ProvidedLLM(wire, remote, model=model, seconds=settings.seconds, price=price)


def _wire(name: str, model: str, elsewhere: str, remote: Remote, max_tokens: int) -> LlmWire:
    if name == "anthropic":
        return llm_anthropic.AnthropicWire(model, base_url=elsewhere, max_tokens=max_tokens)
    if name == "openai":
        return llm_openai.OpenAIWire(model, base_url=elsewhere, max_tokens=max_tokens)
    return llm_ollama.OllamaWire(model, remote, max_tokens=max_tokens)


def _address(given: str) -> str:
    """An address with a scheme; Ollama's own variable often has none."""
    return f"http://{given}" if given and "://" not in given else given
