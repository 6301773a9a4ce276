"""How a verb is declared: ``@verb`` on the method that does the work, ``Annotated[type, Say(...)]`` on its parameters.

Neither costs anything when a module is imported: the decorator only leaves a note on the function, and annotations
are not evaluated before ``read`` asks for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

Scope = Literal["read", "write", "files", "admin"]
"""Who may call a verb: ``files`` reads or writes files of the machine, ``admin`` changes the store as a whole."""
Face = Literal["cli", "http", "mcp"]
Asked = Literal["", "people", "everybody"]
Function = TypeVar("Function", bound=Callable[..., Any])

PYTHON_ONLY = "a Python object; other programs cannot send one"
BY_FACE = "the face says it"
ADDED_TEXT: Mapping[Face, str] = {"cli": "- reads standard input", "http": "save takes a text", "mcp": "add has it"}
WATCHED: Mapping[Face, str] = {"http": "the server watches by itself", "mcp": "it never ends"}


class Say(NamedTuple):
    """What every face says about a parameter."""

    line: str
    """One sentence."""
    low: float | None = None
    high: float | None = None
    most: float | None = None
    """The highest number that is taken over a network, where one caller must not take all of a server's time."""
    longest: int | None = None
    """The most characters of a text that comes over a network."""
    short: str = ""
    """A flag of one letter on the command line."""
    name: str = ""
    """Its name on the command line and over HTTP, if it is not that in Python: ``kind`` for ``kinds``."""
    http: str = ""
    """Its name over HTTP, if that is another one still."""
    shown: str = ""
    """What stands for the value in help: ``PREFIX|GLOB``."""
    choices: Sequence[str] = ()
    seam: str = ""
    """The field of ``Plugin`` whose names are choices, too."""
    plugin: str = ""
    """The plugin without which no face has it."""
    example: Any = None
    kind: str = ""
    """What it is to a face (see ``ParamRow.kind``), where the type does not say it."""
    argument: bool | None = None
    """Whether the command line takes it without a flag; by default, if it comes first and has no default value."""
    asks: bool = False
    """Whether a person at a terminal is asked if it is not given: it takes a function that decides, too."""
    not_on: Mapping[Face, str] | str = {}
    """Faces that do not have it, with the reason; a text is the reason for all of them."""

    def __hash__(self) -> int:  # ``Annotated`` needs one, and mappings have none
        return hash(self.line)


class Declared(NamedTuple):
    """What ``@verb`` says about a method, besides what its signature says."""

    scope: Scope
    group: str
    line: str
    path: str
    """Its words on the command line, and its path over HTTP: ``skills search``."""
    examples: Sequence[str]
    answers: str
    """The name of the result in an answer, when the method does not return a value with names of its own."""
    is_long: bool
    """It may take minutes: over HTTP it answers with a task."""
    not_on: Mapping[Face, str]
    looking: Mapping[str, Any] | None = None
    """With these parameters fixed it only looks, which is ``GET`` over HTTP; None for verbs that always change, and for
    those that never do.
    """
    creates: bool = False
    """It brings something in, so that it makes a store where there is none."""
    needs_model: bool = False
    """It turns a query or a task into a vector, and ranks by the profile of the settings or of a parameter."""
    asks: Asked = ""
    """Who is asked on the command line before it is done, after a look with ``dry_run``: people, or everybody, so that
    a script must say ``--yes``.
    """
    storeless: bool = False
    """It works where there is no store."""


def verb(
    scope: Scope,
    group: str,
    line: str,
    *,
    path: str = "",
    examples: Sequence[str] = (),
    answers: str = "",
    is_long: bool = False,
    not_on: Mapping[Face, str] = {},
    looking: Mapping[str, Any] | None = None,
    creates: bool = False,
    needs_model: bool = False,
    asks: Asked = "",
    storeless: bool = False,
) -> Callable[[Function], Function]:
    """Declare a method of the engine as a verb. ``line`` says what it does; the docstring says the rest."""

    def declare(function: Function) -> Function:
        words = path or function.__name__.strip("_").replace("_", "-")
        declared = Declared(
            scope=scope, group=group, line=line, path=words, examples=examples, answers=answers,
            is_long=is_long, not_on=not_on, looking=looking, creates=creates, needs_model=needs_model, asks=asks,
            storeless=storeless,
        )  # fmt: skip
        function.declared = declared  # type: ignore[attr-defined]
        return function

    return declare
