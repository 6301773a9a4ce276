"""What a hook or a command sends to the server and gets back, in a form that needs no library to write and read.

A request is texts, each ended by a zero byte, which no path, argument or variable holds, and then bytes as they are.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

ALONE = b"alone"
"""What the server answers if the caller has to run the command itself."""


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


class CommandRequest:
    """A command line that another process of this user wants answered, and what its answer depends on."""

    def __init__(
        self,
        *,
        version: str,
        folder: str,
        terminals: str,
        window: tuple[int, int],
        args: Sequence[str],
        env: Mapping[str, str],
    ) -> None:
        self.version = version
        self.folder = folder
        self.terminals = terminals
        """Which of the caller's streams are terminals: the letters ``i``, ``o``, ``e``."""
        self.window = window
        """Columns and lines."""
        self.args = args
        self.env = env

    def to_bytes(self) -> bytes:
        columns, lines = map(str, self.window)
        variables = (f"{name}={value}" for name, value in self.env.items())
        head = (self.version, self.folder, self.terminals, columns, lines, str(len(self.args)))
        return packed((*head, *self.args, *variables))

    @classmethod
    def from_bytes(cls, body: bytes) -> CommandRequest:
        """The same read again; ``ValueError`` for what is none."""
        texts, _ = unpacked(body)
        version, folder, terminals, columns, lines, count = texts[:6]
        args, variables = texts[6 : 6 + int(count)], texts[6 + int(count) :]
        return cls(
            version=version,
            folder=folder,
            terminals=terminals,
            window=(int(columns), int(lines)),
            args=args,
            env=dict(one.partition("=")[::2] for one in variables),
        )


def packed_answer(code: int, parts: Iterable[tuple[str, bytes]]) -> bytes:
    """A command's exit code and what it wrote: a line with the lengths, then the bytes.

    >>> packed_answer(3, [("o", b"a"), ("o", b"b"), ("e", b"error")])
    b'3 o2 e5\\naberror'
    """
    joined: list[tuple[str, list[bytes]]] = []
    for purpose, part in parts:
        if not joined or joined[-1][0] != purpose:
            joined.append((purpose, []))
        joined[-1][1].append(part)
    whole = [(purpose, b"".join(some)) for purpose, some in joined]
    head = " ".join([str(code), *(f"{purpose}{len(part)}" for purpose, part in whole)])
    return head.encode() + b"\n" + b"".join(part for _, part in whole)


def unpacked_answer(body: bytes) -> tuple[int, list[tuple[str, bytes]]]:
    """The same read again; ``ValueError`` for what is none."""
    head, separator, rest = body.partition(b"\n")
    code, *lengths = head.decode("ascii").split(" ")
    if not separator or sum(int(one[1:]) for one in lengths) != len(rest):
        raise ValueError("the answer is cut short")
    parts = []
    for one in lengths:
        length = int(one[1:])
        parts.append((one[0], rest[:length]))
        rest = rest[length:]
    return int(code), parts
