"""The program around the verbs: help, groups, global flags, envelopes, exit codes, completion, imports."""

from __future__ import annotations

import json
import os
import runpy
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from ricordo._version import __version__
from ricordo.cli.call import Call
from ricordo.cli.command import FIRST, SECTIONS, Verb, declared_commands, shown_commands
from ricordo.cli.command_list import COMMANDS, PLUGINS
from ricordo.cli.generated import VerbGroup
from ricordo.cli.program import program
from ricordo.plugin import installed
from ricordo.verbs.index import all_verbs

ROOT = Path(__file__).parents[2]


def commands() -> Iterator[tuple[str, Any]]:
    root = click.Context(program, info_name="ricordo", obj=Call())
    for name in shown_commands():
        yield from below(program, root, name, name)


def below(group: click.Group, above: click.Context, path: str, name: str) -> Iterator[tuple[str, Any]]:
    command = group.get_command(above, name)
    yield path, command
    if isinstance(command, VerbGroup):
        context = click.Context(command, above, info_name=name)
        for part in command.list_commands(context):
            inner = command.get_command(context, part)
            if inner is not None and not inner.hidden:
                yield from below(command, context, f"{path} {part}", part)


@pytest.mark.parametrize(("path", "command"), list(commands()))
def test_every_verb_has_one_line_of_help_then_an_example(path: str, command: Any, house: Any) -> None:
    assert isinstance(command, Verb | VerbGroup)
    lines = house.run(*path.split(), "--help").stdout.splitlines()
    assert lines[0].startswith(f"Usage: ricordo {path}")
    assert lines[2].endswith(".")
    assert lines[4] == "Examples:"
    assert f"ricordo {path}" in "\n".join(command.examples)
    assert all(param.help for param in command.params if isinstance(param, click.Option))


def test_the_help_names_commands_that_exist_in_groups_that_exist() -> None:
    found = dict(commands())
    for name, (section, line) in shown_commands().items():
        assert found[name].name == name
        assert found[name].help == line
        assert section in SECTIONS


def test_help_shows_the_first_verbs_in_their_groups(house: Any) -> None:
    shown = house.run("--help").stdout
    titles = [f"\n{title}:\n" for title in SECTIONS.values()]
    places = [shown.index(title) for title in titles]
    assert places == sorted(places)
    assert shown.index("\n  search ") > shown.index("\nFind:\n") > shown.index("\n  add ")
    assert "\nCommands:" not in shown
    assert len(FIRST) <= 16
    assert "ricordo --help --all" in shown
    assert "\n  grep " not in shown


def test_help_with_all_shows_every_verb(house: Any) -> None:
    shown = house.run("--help", "--all").stdout
    assert shown == house.run("--all", "--help").stdout
    assert all(f"\n  {name} " in shown for name in shown_commands())
    assert "--help --all" not in shown


def test_the_reference_page_is_current() -> None:
    pages = runpy.run_path(str(ROOT / "tools" / "make_cli_docs.py"))
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == pages["page"](), "run: make docs"


def test_version_is_a_verb_and_a_flag(house: Any) -> None:
    assert house.run("version").stdout == house.run("--version").stdout == f"ricordo {__version__}\n"
    assert house.json("version")["version"] == __version__


def test_global_flags_stand_on_either_side_and_the_later_one_wins(house: Any) -> None:
    before = json.loads(house.run("--json", "--store", "a.db", "config", "path").stdout)["data"]
    between = json.loads(house.run("config", "--store", "a.db", "path", "--json").stdout)["data"]
    both = json.loads(house.run("--store", "b.db", "config", "path", "--json", "--store", "a.db").stdout)["data"]
    assert before == between == both
    assert before["store"] == str(house.folder / "a.db")
    assert before["store_from"] == "flag"


@pytest.mark.parametrize(
    ("args", "command", "words"),
    [
        (["serch", "x"], "", "did you mean 'search'"),
        (["search", "--limt", "3", "x"], "search", "--limit"),
        (["search", "x", "--limit", "many"], "search", "many"),
        (["search", "x", "--limit", "0"], "search", "0"),
        (["get"], "get", "REF"),
        (["config", "get"], "config get", "NAME"),
        (["add", "x", "--kind", "poem"], "add", "poem"),
        (["completion", "cmd"], "completion", "cmd"),
        (["search", "x", "--weights", "vector"], "search", "vector"),
        (["search", "x", "--after", "yesterdayish"], "search", "yesterdayish"),
        (["edit", "note:/x", "--set", "title"], "edit", "title"),
        (["edit", "note:/x", "--set", "importance=much"], "edit", "much"),
        (["refresh"], "refresh", "what"),
        (["search", "x", "--limit", "many"], "search", "'many' is not a whole number"),
        (["install"], "install", "Choose from: claude-code, claude-desktop"),
        (["eval"], "eval", "which set"),
        (["add", "-"], "add", "needs a ref"),
        (["explain", "x"], "explain", "ref"),
    ],
)
def test_wrong_usage_exits_2_with_a_hint_and_one_envelope(
    house: Any, args: list[str], command: str, words: str
) -> None:
    house.run("init")
    printed = house.run(*args, code=2)
    assert printed.stdout == ""
    first, second = printed.stderr.splitlines()
    assert first.startswith("error: ")
    assert words in first
    assert second.startswith("hint: ")
    envelope = house.envelope(*args, code=2)
    assert envelope["command"] == command
    assert envelope["data"] is None
    assert envelope["error"]["code"] == "usage"
    assert words in envelope["error"]["message"]
    assert envelope["error"]["hint"]


def test_json_after_two_dashes_is_text_and_not_the_flag(house: Any) -> None:
    printed = house.run("serch", "--", "--json", code=2)
    assert printed.stdout == ""
    assert "did you mean" in printed.stderr


def test_an_unexpected_error_is_one_line_and_the_trace_comes_on_request(
    house: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a\nb")

    monkeypatch.setattr("ricordo.cli.cmd_config.load_config", broken)
    printed = house.run("config", "list", code=1)
    assert printed.stderr == (
        "error: unexpected error: ZeroDivisionError: a b\n"
        "hint: Run with --verbose for the trace, or look into ricordo.log.\n"
    )
    log = (Path(os.environ["RICORDO_STATE_HOME"]) / "ricordo.log").read_text("utf-8")
    assert "'ricordo config list' failed" in log
    assert "in broken" in log, "the trace"
    assert "Traceback" in house.run("config", "list", "--verbose", code=1).stderr
    assert house.json("config", "list", code=1)["code"] == "unexpected"


def test_an_error_of_the_system_is_told_without_a_trace(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "/x/y")

    monkeypatch.setattr("ricordo.cli.cmd_config.load_config", full)
    assert house.run("config", "list", code=1).stderr.startswith("error: No space left on device: /x/y\nhint: ")


def test_an_interrupt_exits_130_and_says_that_nothing_is_lost(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ricordo.cli.cmd_config.load_config", stopped)
    printed = house.run("config", "list", code=130)
    assert "Nothing that was saved is lost" in printed.stderr
    assert house.json("config", "list", code=130)["code"] == "interrupted"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_the_shell(house: Any, shell: str) -> None:
    script = house.run("completion", shell).stdout
    assert "_RICORDO_COMPLETE" in script
    assert house.json("completion", shell)["script"] + "\n" == script


def test_completion_offers_verbs_without_loading_them(house: Any) -> None:
    house.env.update(_RICORDO_COMPLETE="bash_complete", COMP_WORDS="ricordo se", COMP_CWORD="1")
    with house.start(stdout=-1) as process:
        offered = process.communicate()[0].decode().split()
    assert offered == [f"plain,{verb}" for verb in ("search", "serve", "sessions")]
    house.env.update(COMP_WORDS="ricordo get no", COMP_CWORD="2")
    with house.start(stdout=-1) as process:
        assert process.communicate()[0].decode().split() == ["plain,note:/", "file,no"]


def test_help_and_version_import_nothing_but_click_and_the_table(imported: Callable[..., set[str]]) -> None:
    allowed = {
        "ricordo", "ricordo.cli", "ricordo.cli.program", "ricordo.cli.command", "ricordo.cli.command_list",
        "ricordo.cli.call", "ricordo.cli.terminal", "ricordo.errors",
        "ricordo._version", "ricordo.log", "ricordo.plugin", "ricordo.patterns",
    }  # fmt: skip
    found = imported("--help")
    assert {name for name in found if name.split(".")[0] == "ricordo"} == allowed
    assert third_party(found) == {"click"}
    assert third_party(imported("version")) == {"click"}
    assert "importlib.metadata" not in found | imported("version")


def third_party(modules: set[str]) -> set[str]:
    packages = {name.split(".")[0] for name in modules} - set(sys.stdlib_module_names)
    return {
        name for name in packages if name not in ("ricordo", "__main__") and not name.startswith(("_", "sitecustomize"))
    }


def test_config_verbs_import_no_engine(imported: Callable[..., set[str]]) -> None:
    assert third_party(imported("config", "list")) <= {"click"}
    assert third_party(imported("completion", "bash")) == {"click"}


def test_config_alone_lists_the_settings(house: Any) -> None:
    assert house.run("config").stdout == house.run("config", "list").stdout
    assert house.json("config")["settings"]


def test_the_list_that_the_help_reads_is_as_plugins_and_verbs_declare_it() -> None:
    assert dict(COMMANDS) == declared_commands(all_verbs())
    ours = [plugin.name for plugin in installed().values() if plugin.package.startswith("ricordo.")]
    assert list(PLUGINS) == ours
