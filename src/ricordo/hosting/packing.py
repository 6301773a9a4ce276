"""What a hook sends to the server, in a form that needs no library to write and read.

A request is texts, each ended by a zero byte, which no path, argument or variable holds, and then bytes as they are.
"""

from __future__ import annotations

import os
from collections.abc import Sequence


def packed(texts: Sequence[str], content: bytes = b"") -> bytes:
    """Texts and bytes as one body.

    >>> unpacked(packed(["/home/me", ""], b"rest"))
    (['/home/me', ''], b'rest')
    """
    fields = (str(len(texts)), *texts)
    return b"".join(os.fsencode(text) + b"\0" for text in fields) + content


def unpacked(body: bytes) -> tuple[list[str], bytes]:
    """The texts and the bytes of a body; ``ValueError`` for what is none."""
    count, _, rest = body.partition(b"\0")
    texts = []
    for _ in range(int(count)):
        text, separator, rest = rest.partition(b"\0")
        if not separator:
            raise ValueError("a text is cut short")
        texts.append(os.fsdecode(text))
    return texts, rest
