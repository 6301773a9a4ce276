"""An error says what is wrong and what to do; each face words the names of parameters and commands in its own way."""

from __future__ import annotations

import ast
import pickle
import re
from pathlib import Path

import pytest

from ricordo import errors
from ricordo.errors import Face, UsageError, in_words_of
from ricordo.plugin import installed

PACKAGE = Path(errors.__file__).parent
FACES = ("cli", "programs", "http_api", "mcp_server", "hosting", "hooks", "plugins/page")
NAMES = {name for name in vars(errors) if isinstance(getattr(errors, name), type)}


@pytest.mark.parametrize(
    ("face", "worded"),
    [
        ("cli", "Use --on-conflict overwrite or --as note:/x; see 'ricordo list'."),
        ("python", 'Use on_conflict="overwrite" or as_ref="note:/x"; see \'ricordo list\'.'),
        ("http", "Use on_conflict=overwrite or as_ref=note:/x; see 'ricordo list'."),
        ("mcp", 'Use on_conflict "overwrite" or as_ref "note:/x"; see the user\'s command \'ricordo list\'.'),
    ],
)
def test_each_face_writes_parameters_and_commands_in_its_own_way(face: Face, worded: str) -> None:
    said = "Use ‹on_conflict=overwrite› or ‹as_ref=note:/x›; see ‹:list›."
    assert in_words_of(face, said) == worded
    assert UsageError("wrong", hint=said).to_dict(face)["hint"] == worded


def test_a_text_of_users_in_an_error_stays_as_it_is() -> None:
    assert UsageError("'‹Käse›' is not a ref").message == "'‹Käse›' is not a ref"


@pytest.mark.parametrize(
    "error",
    [
        UsageError("‹limit=0› is not a number", hint="Use ‹limit=1›; see ‹:list›.", parameter="limit"),
        errors.MissingExtra("documents", "PDF files"),
    ],
    ids=lambda error: error.code,
)
def test_an_error_of_another_process_is_the_same_here(error: errors.Error) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert (str(copy), copy.message, copy.to_dict("cli")) == (str(error), error.message, error.to_dict("cli"))
    assert vars(copy) == vars(error)
    assert copy.hint


def test_no_error_below_the_faces_names_a_flag_or_a_command_without_a_mark() -> None:
    found = []
    commands = {f"plugins/{name}/{plugin.cli}.py" for name, plugin in installed().items()}
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        if place.startswith(FACES) or place in commands:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in NAMES:
                text = re.sub(r"‹:[^›]*›", "", ast.unparse(node))
                found += [f"{place}:{node.lineno} {flag}" for flag in re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)]
                found += [f"{place}:{node.lineno} {said}" for said in re.findall(r"(?<![\w/-])ricordo [a-z]+", text)]
    assert [one for one in found if not one.endswith(("--force-reinstall", "--verbose"))] == []
