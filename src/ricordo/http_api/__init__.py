"""The page and the API: one server, started by ``ricordo serve``, that answers browsers, programs, agents and hooks.

``server`` puts it together and runs it, ``guard`` decides who may ask, ``api`` makes the routes of verbs,
``routes`` holds the others. The page is a plugin. Every answer comes from a method of ``Ricordo``.
"""

from __future__ import annotations

from ricordo.errors import MissingExtra


def require_server() -> None:
    """The extra must be installed."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in ("fastapi", "uvicorn", "jinja2", "markdown_it", "nh3")):
        raise MissingExtra("server", "The page and the API")
