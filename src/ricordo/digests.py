"""SHA-256 of bytes. Importing ``hashlib`` takes 3 ms, and a search needs no digest, so it is imported when the
first one is made.
"""

from __future__ import annotations


def hash_of(data: bytes) -> str:
    """The digest in hexadecimal digits."""
    import hashlib

    return hashlib.sha256(data).hexdigest()
