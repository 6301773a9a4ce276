"""Masks what is secret in an address, so that settings, errors and the log can show the rest of it."""

from __future__ import annotations

import re

from ricordo.patterns import late

MASK = "***"
DATABASES = ("postgresql", "postgres")
"""Schemes where a user without a password is no secret; elsewhere such a name is often a token."""
_SECRET_OPTION = late(r"([?&][^=&\s]*(?:pass|pwd|secret|token|key|sig|credential)[^=&\s]*=)[^&\s]*", re.IGNORECASE)
_IN_TEXT = late(r"\b[a-z][a-z0-9+.-]{0,30}://[^\s'\"‹›]+", re.IGNORECASE)
_PORT_AND_PATH = late(r"[^:@/]*:\d{1,5}/")


def masked(value: str) -> str:
    """The value with its secrets masked, if it is an address; how its scheme is spelled and encoded does not matter.

    >>> masked("POSTGRESQL://kim:s3cret@db/notes")
    'POSTGRESQL://kim:***@db/notes'
    """
    scheme, separator, rest = value.partition("://")
    if not separator:
        return value
    is_database = scheme.strip().lower() in DATABASES
    who, at, place = rest.rpartition("@")  # the last one: a password may hold others that were not encoded
    if at and (is_database or not _PORT_AND_PATH.match(who)):
        user, colon, _ = who.partition(":")
        if colon:
            who = f"{user}:{MASK}"
        elif "/" not in who and not is_database:
            who = MASK
    return _SECRET_OPTION.sub(rf"\g<1>{MASK}", f"{scheme}{separator}{who}{at}{place}")


def masked_in(text: str) -> str:
    """A text with the secrets of all addresses in it masked."""
    return _IN_TEXT.sub(lambda match: masked(match[0]), text) if "://" in text else text


def is_masked(value: str) -> bool:
    """Whether a value is what ``masked`` shows, and so not what was meant."""
    return value == MASK or ("://" in value and (f":{MASK}@" in value or f"//{MASK}@" in value or f"={MASK}" in value))
