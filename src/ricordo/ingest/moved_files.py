"""Recognises files that were renamed or moved, by their bytes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile

from ricordo.ingest.files import hash_of
from ricordo.values.items import Ref


class Gone:
    """Files that are gone, recognised by their bytes if they appear under another name."""

    def __init__(self, files: Mapping[int, tuple[Ref, str]]) -> None:
        self.followed: set[int] = set()
        self._by_hash: dict[str, dict[int, Ref]] = {}
        for n, (ref, digest) in files.items():
            self._by_hash.setdefault(digest, {})[n] = ref

    def like(self, ref: Ref, data: bytes) -> int | None:
        """The item whose file had these bytes; of several, the one whose path ends most alike."""
        candidates = self._by_hash.get(hash_of(data), {}) if data else {}
        if not candidates:
            return None
        n = max(candidates, key=lambda one: (_shared_end(candidates[one].path, ref.path), -one))
        del candidates[n]
        self.followed.add(n)
        return n


def _shared_end(one: str, other: str) -> int:
    """How many parts, counted from the end, two paths have in common."""
    pairs = zip(reversed(one.split("/")), reversed(other.split("/")), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
