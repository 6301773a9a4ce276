"""Secrets in texts: finding keys, tokens and passwords by rules, and writing a text without them.

The rules avoid false alarms: a token is recognised by the form that its issuer gives it (``secret_forms``), any other
secret by the name it is assigned to and by looking random (``secret_assignments``). Hashes, UUIDs and prose are no
secrets. Nothing is stored here, and a user's file is never written to.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from ricordo.ingest.secret_assignments import STEMS, WHOLE_STEMS, assigned
from ricordo.ingest.secret_commands import COMMAND_SIGNS, WALLET_SIGNS, in_commands, in_cookies, wallet_words
from ricordo.ingest.secret_forms import FORMS, SHORTEST, FoundSecret, by_form, private_keys
from ricordo.ingest.secret_signs import SignFinder
from ricordo.values.kinds import REDACTED_KINDS

_INVISIBLE = re.compile("[\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufeff]")
"""Characters that show nothing; between the letters of a token they hide it from a search for its form."""

_SIGNS = SignFinder(
    forms=[sign for form in FORMS for sign in form.signs],
    commands=COMMAND_SIGNS,
    stems=(*STEMS, *WALLET_SIGNS),
    whole=WHOLE_STEMS,
    least=SHORTEST,
)


def find_secrets(text: str) -> list[FoundSecret]:
    """The secrets of a text in order; none overlap.

    >>> [finding.kind for finding in find_secrets("key AKIAIOSFODNN7EXAMPLE, commit 9fceb02d0ae598e9")]
    ['aws key']
    """
    if text.isascii() or not _INVISIBLE.search(text):
        return _found(text)
    kept = [place for place, character in enumerate(text) if not _INVISIBLE.match(character)]
    seen = (FoundSecret(one.kind, kept[one.start], kept[one.end - 1] + 1) for one in _found(_INVISIBLE.sub("", text)))
    return _without_overlaps((*seen, *_found(text)))


def _found(text: str) -> list[FoundSecret]:
    held = _SIGNS.held_by(text)
    return _without_overlaps(
        (
            *private_keys(text),
            *by_form(text, held.forms),
            *assigned(text, held.stems),
            *in_commands(text, held.commands),
            *in_cookies(text),
            *wallet_words(text, held.stems),
        )
    )


def _without_overlaps(findings: Iterable[FoundSecret]) -> list[FoundSecret]:
    """The findings in order; those that overlap are joined under the kind of the first."""
    merged: list[FoundSecret] = []
    for one in sorted(findings, key=lambda one: (one.start, -one.end)):
        if merged and one.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = FoundSecret(last.kind, last.start, max(last.end, one.end))
        else:
            merged.append(one)
    return merged


_MOST_ROUNDS = 8


def redact(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with each secret replaced by what it was, and the kinds of what was replaced, in order.

    >>> redact("use AKIAIOSFODNN7EXAMPLE here")
    ('use [redacted: aws key] here', ('aws key',))
    """
    kinds: list[str] = []
    for _ in range(
        _MOST_ROUNDS
    ):  # text right behind a secret may be recognised as another one only after the first is replaced
        findings = find_secrets(text)
        if not findings:
            break
        pieces: list[str] = []
        at = 0
        for one in findings:
            pieces += [text[at : one.start], f"[redacted: {one.kind}]"]
            at = one.end
        text = "".join((*pieces, text[at:]))
        kinds += [one.kind for one in findings]
    return text, tuple(kinds)


def redact_values(values: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The same for every text in a mapping, at any depth."""
    kinds: list[str] = []

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            text, found = redact(value)
            kinds.extend(found)
            return text
        if isinstance(value, Mapping):
            return {key: clean(inner) for key, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(clean(inner) for inner in value)
        return value

    return {name: clean(value) for name, value in values.items()}, tuple(kinds)


def redact_item(
    kind: str, text: str, fields: Mapping[str, Any], *, allow_secrets: bool
) -> tuple[str, dict[str, Any], tuple[str, ...]]:
    """Text and fields without secrets, and the kinds of secrets removed; only what agents write is changed."""
    if allow_secrets or (kind not in REDACTED_KINDS and fields.get("source") != "agent"):
        return text, dict(fields), ()
    text, in_text = redact(text)
    clean, in_fields = redact_values(fields)
    return text, clean, (*in_text, *in_fields)


def secret_counts(text: str) -> dict[str, int]:
    """How many secrets of each kind a text contains."""
    return dict(Counter(one.kind for one in find_secrets(text)))
