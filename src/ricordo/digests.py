"""SHA-256 of bytes. Importing ``hashlib`` takes 3 ms, which a search, that needs no digest, does not wait for."""

from __future__ import annotations


def hash_of(data: bytes) -> str:
    """The digest in hexadecimal digits."""
    import hashlib

    return hashlib.sha256(data).hexdigest()
