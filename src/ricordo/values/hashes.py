"""The hash of a version: all that belongs to it, so that any change of it is noticed."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from ricordo.values.items import Draft


def version_hash(draft: Draft, content_hash: str) -> str:
    """SHA-256 of all that belongs to a version: content, kind, ref and every field."""
    identity: dict[str, Any] = {
        "ref": f"{draft.ref.drive}:{draft.ref.place}",
        "kind": draft.kind,
        "content": content_hash,
        "fields": draft.fields.to_dict(),
    }
    canonical = json.dumps(identity, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()
