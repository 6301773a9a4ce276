"""How much time, memory and text one file may cost. Only numbers; ``sandbox`` and ``read`` enforce them."""

from __future__ import annotations

from ricordo.frozen import frozen


@frozen
class Limits:
    """Bounds for reading one file.

    ``seconds`` and ``memory_mb`` bound the worker that reads risky formats (memory only where the system can
    enforce it). Text beyond ``max_text_chars`` is cut, with a warning; the default lets any file of 50 MB
    through whole.
    """

    seconds: float = 30.0
    memory_mb: int = 1024
    max_text_chars: int = 50 * 1024 * 1024
