"""Says whose words are stored without secrets: all that an agent gives, and what anybody has remembered.

Every verb that stores a text asks here, and says whether the caller allowed secrets. What an author marked as private
is never stored. Files, pages and commits that are read where they are belong to somebody else; they are stored as they
are, and ``doctor`` counts their secrets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ricordo.errors import UsageError
from ricordo.secrets.find import find_secrets, redact, redact_values
from ricordo.speaking import speaker
from ricordo.values.items import Ref
from ricordo.values.kinds import REDACTED_KINDS
from ricordo.values.provenance import AGENT


def is_redacted(kind: str, fields: Mapping[str, Any]) -> bool:
    """Whether secrets are taken out of an item: whatever an agent says, and of people's words those of some kinds."""
    return kind in REDACTED_KINDS or fields.get("source") == "agent" or speaker().author == AGENT


def redact_item(
    kind: str, text: str, fields: Mapping[str, Any], *, allow_secrets: bool
) -> tuple[str, dict[str, Any], tuple[str, ...]]:
    """Text and fields without secrets, unless they are allowed, and without what is private; and the kinds of what was
    removed.
    """
    if not is_redacted(kind, fields):
        return text, dict(fields), ()
    text, in_text = redact(text, allow_secrets=allow_secrets)
    clean, in_fields = redact_values(fields, allow_secrets=allow_secrets)
    return text, clean, (*in_text, *in_fields)


def refuse_secret_name(ref: Ref) -> None:
    """Refuse an agent a ref that holds a secret. It could not be taken out without another item having that name."""
    if speaker().author == AGENT and (findings := find_secrets(str(ref))):
        raise UsageError(
            f"the name that was given holds a secret ({findings[0].kind})",
            hint="Give a name without it; nothing was saved.",
        )
