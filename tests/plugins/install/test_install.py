"""install and uninstall: the right file for each agent, nothing of it lost, and nothing touched that is not ours."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ricordo._version import __version__
from ricordo.cli.command import shown_commands
from ricordo.plugins.install import command as install_verbs
from ricordo.plugins.install import json_text
from ricordo.plugins.install.pieces import plugin_folder, program_command
from ricordo.programs.table import PROGRAMS

ROOT = Path(__file__).parents[3]
EVENTS = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "user-prompt",
    "SubagentStart": "before-agent-start",
    "PreCompact": "pre-compact",
    "SessionEnd": "session-end",
}


@pytest.fixture
def home(house: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own folder, where the programs keep their settings."""
    place = tmp_path / "home"
    place.mkdir()
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.setenv("USERPROFILE", str(place))
    return place


CLINE = "home/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"


def server(path: Path, container: str) -> Any:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".yaml":
        return next(one for one in yaml.safe_load(text)[container] if one["name"] == "ricordo")
    return (tomllib.loads(text) if path.suffix == ".toml" else json.loads(text))[container]["ricordo"]


@pytest.mark.parametrize(
    ("agent", "scope", "file", "container"),
    [
        ("claude-code", "--user", "home/.claude.json", "mcpServers"),
        ("claude-code", "--project", "work/.mcp.json", "mcpServers"),
        ("codex", "--user", "home/.codex/config.toml", "mcp_servers"),
        ("codex", "--project", "work/.codex/config.toml", "mcp_servers"),
        ("cursor", "--user", "home/.cursor/mcp.json", "mcpServers"),
        ("cursor", "--project", "work/.cursor/mcp.json", "mcpServers"),
        ("vscode", "--project", "work/.vscode/mcp.json", "servers"),
        ("gemini", "--user", "home/.gemini/settings.json", "mcpServers"),
        ("gemini", "--project", "work/.gemini/settings.json", "mcpServers"),
        ("qwen", "--user", "home/.qwen/settings.json", "mcpServers"),
        ("qwen", "--project", "work/.qwen/settings.json", "mcpServers"),
        ("windsurf", "--user", "home/.codeium/windsurf/mcp_config.json", "mcpServers"),
        ("zed", "--project", "work/.zed/settings.json", "context_servers"),
        ("opencode", "--user", "home/.config/opencode/opencode.json", "mcp"),
        ("opencode", "--project", "work/opencode.json", "mcp"),
        ("continue", "--user", "home/.continue/mcpServers/ricordo.yaml", "mcpServers"),
        ("continue", "--project", "work/.continue/mcpServers/ricordo.yaml", "mcpServers"),
        *(
            [
                ("claude-desktop", "--user", "home/.config/Claude/claude_desktop_config.json", "mcpServers"),
                ("zed", "--user", "home/.config/zed/settings.json", "context_servers"),
                ("cline", "--user", CLINE, "mcpServers"),
            ]
            if sys.platform == "linux"
            else []
        ),
    ],
)
def test_each_agent_gets_a_server_in_its_own_file_and_loses_it_again(
    house: Any, home: Path, agent: str, scope: str, file: str, container: str
) -> None:
    path = home.parent / file
    output = house.json("install", agent, scope)
    assert str(path) in [one["path"] for one in output["files"]]
    assert {one["status"] for one in output["files"]} == {"created"}
    entry = server(path, container)
    command = entry["command"] if isinstance(entry["command"], list) else [entry["command"]]
    assert [*command, *entry.get("args", [])] == [*program_command(), "mcp"]
    first = path.read_bytes()
    assert {one["status"] for one in house.json("install", agent, scope)["files"]} == {"unchanged"}
    assert path.read_bytes() == first
    assert {one["status"] for one in house.json("uninstall", agent, scope)["files"]} == {"removed"}
    assert [*home.rglob("*"), *house.folder.rglob("*")] == [], "no file, no copy and no empty folder is left"
    assert {one["status"] for one in house.json("uninstall", agent, scope)["files"]} == {"absent"}


@pytest.mark.skipif(sys.platform != "linux", reason="the folder is another elsewhere")
def test_the_servers_of_all_projects_of_vs_code_are_in_its_profile(house: Any, home: Path) -> None:
    house.run("install", "vscode", "--user")
    assert server(home / ".config/Code/User/mcp.json", "servers")["type"] == "stdio"


def test_claude_code_gets_hooks_and_a_skill_too(house: Any, home: Path) -> None:
    house.run("install", "claude-code")
    hooks = json.loads((home / ".claude/settings.json").read_text())["hooks"]
    commands = {event: groups[0]["hooks"][0]["command"] for event, groups in hooks.items()}
    named = {event: command.partition(" hook ")[2] for event, command in commands.items()}
    assert named == {event: f"{name} --within 10" for event, name in EVENTS.items()}
    assert all(Path(command.split(" hook ")[0]).is_absolute() for command in commands.values())
    assert "name: ricordo" in (home / ".claude/skills/ricordo/SKILL.md").read_text()


def test_a_folder_of_its_own_is_where_claude_code_and_codex_look(
    house: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "c"))
    monkeypatch.setenv("CODEX_HOME", str(home / "x"))
    house.run("install", "claude-code")
    house.run("install", "codex")
    files = {str(one.relative_to(home)) for one in home.rglob("*") if one.is_file()}
    codex = {"x/config.toml", "x/hooks.json"}
    assert files == codex | {"c/.claude.json", "c/settings.json", "c/skills/ricordo/SKILL.md"}


def test_what_is_written_starts_the_program_from_any_folder(house: Any, home: Path, tmp_path: Path) -> None:
    house.run("install", "claude-code")
    entry = server(home / ".claude.json", "mcpServers")
    command = [entry["command"], *entry["args"][:-1], "version"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, text=True)
    assert __version__ in done.stdout
    module = [sys.executable, "-P", "-m", "ricordo", "version"]
    assert __version__ in subprocess.run(module, cwd=tmp_path, capture_output=True, check=True, text=True).stdout


MESSY = """{
    "theme":"dark",   "list": [1,2,
       3],
    "mcpServers": { "other": {"command": "x", "args": []} },
\t"unicode": "\\u00e9 é",
    "hooks": {
        "UserPromptSubmit": [ {"hooks": [ {"type":"command","command":"date"} ]} ],
        "Stop": []
    }
}
"""


COMMENTED = """// Settings, see https://example.org/{docs}
{
  "theme": "dark", // not "light"
  /* servers: { */
  "mcpServers": {
    "b": { "command": "x", }, // trailing commas, too
  },
  "hooks": {
    "SessionEnd": [
      // mine
      { "hooks": [{ "type": "command", "command": "date" }] },
    ],
  },
}
"""


@pytest.mark.parametrize(
    "text",
    [
        MESSY,
        MESSY.replace("\n", "\r\n"),
        "\ufeff" + MESSY,
        '{"a": 1}',
        "{}",
        '{"mcpServers": {}}\n',
        '{"mcpServers": {}, "hooks": {"SessionEnd": []}}',
        '{\n\t"mcpServers": {\n\t\t"b": {}\n\t}\n}',
        COMMENTED,
        '{"mcpServers": {"b": {},},}',
        "// only a comment\n{}\n",
    ],
)
def test_the_rest_of_a_file_stays_byte_for_byte(house: Any, home: Path, text: str) -> None:
    files = [home / ".claude.json", home / ".claude/settings.json"]
    files[1].parent.mkdir()
    for file in files:
        file.write_bytes(text.encode())
        file.chmod(0o640)
    output = house.json("install", "claude-code")
    assert [one["status"] for one in output["files"]] == ["updated", "updated", "created"]
    for file in files:
        assert Path(f"{file}.before-ricordo").read_bytes() == text.encode()
        assert stat.S_IMODE(file.stat().st_mode) == 0o640
    servers, hooks = (json_text.loads(file.read_text(encoding="utf-8-sig")) for file in files)
    before = json_text.loads(text.lstrip("\ufeff"))
    assert servers == {**before, "mcpServers": {**before.get("mcpServers", {}), **servers["mcpServers"]}}
    for event, groups in before.get("hooks", {}).items():
        assert hooks["hooks"][event][: len(groups)] == groups
    lines = text.split("\n")
    if len(lines) > 1:
        kept = [line for line in lines if line in files[0].read_bytes().decode().split("\n")]
        assert len(kept) >= len(lines) - 2
    house.run("uninstall", "claude-code")
    assert [file.read_bytes() for file in files] == [text.encode()] * 2
    assert sorted(one for one in home.rglob("*") if one.is_file()) == sorted(files), "the copies are gone"


@pytest.mark.parametrize(
    "text",
    [
        '{"version": 1, "hooks": {"stop": [{"command": "date"}], "sessionStart": [{"command": "say ricordo hook"}]}}',
        '{\n  // mine\n  "version": 1,\n  "hooks": {"sessionStart": []},\n}\n',
        '{"hooks": {}}',
        "{}",
        '{"version": 1}\n',
    ],
)
def test_cursor_gets_hooks_in_its_own_form_and_its_file_is_as_it_was_without_them(
    house: Any, home: Path, text: str
) -> None:
    path = home / ".cursor/hooks.json"
    path.parent.mkdir()
    path.write_text(text)
    house.run("install", "cursor")
    found = json_text.loads(path.read_text())
    assert found["version"] == 1
    ours = {event: hooks[-1] for event, hooks in found["hooks"].items() if event != "stop"}
    assert {event: hook["command"].partition(" hook ")[2] for event, hook in ours.items()} == {
        "sessionStart": "session-start --within 10",
        "beforeSubmitPrompt": "user-prompt --within 10",
    }
    assert all(hook["timeout"] == 10 for hook in ours.values()), "Cursor counts seconds"
    first = path.read_bytes()
    assert {one["status"] for one in house.json("install", "cursor")["files"]} == {"unchanged"}
    assert path.read_bytes() == first
    house.run("uninstall", "cursor")
    assert path.read_text() == text
    assert [one for one in home.rglob("*") if one.is_file()] == [path]


def test_hooks_that_the_user_added_to_cursors_new_file_stay_with_its_version(house: Any, home: Path) -> None:
    house.run("install", "cursor")
    path = home / ".cursor/hooks.json"
    plain = json.loads(path.read_text())
    plain["hooks"]["stop"] = [{"command": "date"}]
    path.write_text(json.dumps(plain))
    house.run("uninstall", "cursor")
    assert json.loads(path.read_text()) == {"version": 1, "hooks": {"stop": [{"command": "date"}]}}


def test_uninstall_does_not_touch_the_copy_until_the_end_and_keeps_later_changes(house: Any, home: Path) -> None:
    path = home / ".gemini/settings.json"
    path.parent.mkdir()
    path.write_text('{"theme": "dark"}\n')
    house.run("install", "gemini")
    copy = Path(f"{path}.before-ricordo")
    assert copy.read_text() == '{"theme": "dark"}\n', "though two parts were written into the file"
    path.write_text(path.read_text().replace("dark", "light"))
    house.run("install", "gemini")
    assert copy.read_text() == '{"theme": "dark"}\n'
    house.run("uninstall", "gemini")
    assert json.loads(path.read_text()) == {"theme": "light"}
    assert list(path.parent.iterdir()) == [path]


def test_an_installation_that_is_taken_back_leaves_no_file_at_all(house: Any, home: Path) -> None:
    house.run("install", "claude-code")
    house.run("uninstall", "claude-code")
    assert [path for path in home.rglob("*") if path.is_file()] == []


def test_a_skill_that_the_user_edited_is_kept_as_a_copy(house: Any, home: Path) -> None:
    house.run("install", "claude-code")
    skill = home / ".claude/skills/ricordo/SKILL.md"
    skill.write_text(skill.read_text() + "\nMy own rule.\n")
    house.run("uninstall", "claude-code")
    assert "My own rule." in Path(f"{skill}.before-ricordo").read_text()


@pytest.mark.parametrize("agent", ["claude-desktop", "cline", "windsurf"])
def test_a_program_without_project_settings_says_so(house: Any, home: Path, agent: str) -> None:
    assert "no settings for a single project" in house.json("install", agent, "--project", code=2)["message"]


def test_codex_gemini_and_qwen_get_hooks_in_their_own_form(house: Any, home: Path) -> None:
    files = {"codex": ".codex/hooks.json", "gemini": ".gemini/settings.json", "qwen": ".qwen/settings.json"}
    found: dict[str, Any] = {}
    for agent, file in files.items():
        house.run("install", agent)
        found[agent] = json.loads((home / file).read_text())["hooks"]
    assert set(found["codex"]) == set(EVENTS)
    assert set(found["gemini"]) == {"SessionStart", "BeforeAgent", "SessionEnd"}
    assert set(found["qwen"]) == {"SessionStart", "UserPromptSubmit", "SubagentStart", "SessionEnd"}
    asked = found["gemini"]["BeforeAgent"][0]["hooks"][0]
    assert asked["command"].endswith(" hook user-prompt --within 10")
    timeouts = {agent: hooks["SessionStart"][0]["hooks"][0]["timeout"] for agent, hooks in found.items()}
    assert timeouts == {"codex": 10, "gemini": 10_000, "qwen": 10_000}
    ending = found["codex"]["SessionEnd"][0]["hooks"][0]
    assert (ending["timeout"], ending["command"].endswith("--within 3")) == (3, True), "Codex gives it no more"


def test_opencodes_file_with_comments_is_used_where_it_exists(house: Any, home: Path) -> None:
    file = house.write("opencode.jsonc", '{\n  // mine\n  "model": "x",\n}\n')
    house.run("install", "opencode", "--project")
    assert "// mine" in file.read_text()
    assert not (house.folder / "opencode.json").exists()


def test_the_rest_of_a_toml_file_stays_with_its_comments(house: Any, home: Path) -> None:
    path = home / ".codex/config.toml"
    path.parent.mkdir()
    text = '# mine\nmodel = "x"   # a comment\n\n[mcp_servers.other]  # another\ncommand = "y"\n\n[tui]\ntheme="z"\n'
    path.write_text(text)
    house.run("install", "codex")
    after = path.read_text()
    assert tomllib.loads(after)["mcp_servers"].keys() == {"other", "ricordo"}
    assert [line for line in text.splitlines() if line not in after.splitlines()] == []
    house.run("uninstall", "codex")
    assert path.read_text() == text


def test_what_the_user_added_to_our_entries_stays(house: Any, home: Path) -> None:
    house.run("install", "claude-code")
    file, settings = home / ".claude.json", home / ".claude/settings.json"
    file.write_text(
        json.dumps({"mcpServers": {"ricordo": {"command": "/old/ricordo", "args": ["mcp"], "env": {"A": "b"}}}})
    )
    text = settings.read_text().replace('"timeout": 10', '"timeout": 3')
    settings.write_text(text.replace("/ricordo ", "/x/ricordo "))
    assert [one["status"] for one in house.json("install", "claude-code")["files"]] == [
        "updated", "updated", "unchanged",
    ]  # fmt: skip
    assert server(file, "mcpServers")["env"] == {"A": "b"}
    hook = json.loads(settings.read_text())["hooks"]["SessionStart"]
    assert len(hook) == 1
    assert hook[0]["hooks"][0]["timeout"] == 3
    assert hook[0]["hooks"][0]["command"].startswith(program_command()[0])


def test_only_our_own_hooks_are_taken_out_of_a_group_that_was_merged(house: Any, home: Path) -> None:
    house.run("install", "claude-code")
    settings = home / ".claude/settings.json"
    plain = json.loads(settings.read_text())
    mine = {"type": "command", "command": "say ricordo hook"}
    plain["hooks"]["SessionStart"][0]["hooks"].insert(0, mine)
    settings.write_text(json.dumps(plain))
    house.run("uninstall", "claude-code")
    assert json.loads(settings.read_text()) == {"hooks": {"SessionStart": [{"hooks": [mine]}]}}


@pytest.mark.parametrize(
    ("content", "words", "code"),
    [
        (b'{"servers": ', "not valid JSON", 1),
        (b"\xff\xfe{\x00}\x00", "not valid JSON", 1),
        (b"[]", "not as expected", 4),
        (b'{"servers": []}', "not as expected", 4),
        (b'{"servers": {"ricordo": {"command": "else", "args": ["mcp"]}}}', "starts something else", 4),
        (b'{"servers": {"ricordo": 3}}', "starts something else", 4),
        (b"[" * 100_000, "not valid JSON", 1),
    ],
)
def test_a_file_that_is_broken_or_not_ours_is_left_alone(
    house: Any, home: Path, content: bytes, words: str, code: int
) -> None:
    path = house.write(".vscode/mcp.json", content)
    ours = b"ricordo" in content or words == "not valid JSON"
    for verb in ("install", "uninstall") if ours else ("install",):
        error = house.json(verb, "vscode", code=code)
        assert words in error["message"]
        assert str(path) in error["message"]
        assert "Nothing was changed" in error["hint"]
        assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]
    if not ours:
        assert house.json("uninstall", "vscode")["files"][0]["status"] == "absent", "there is nothing of ours in it"
        assert path.read_bytes() == content


def test_nothing_is_written_when_one_of_several_files_is_broken(house: Any, home: Path) -> None:
    settings = home / ".claude/settings.json"
    settings.parent.mkdir()
    settings.write_text("{")
    assert str(settings) in house.json("install", "claude-code", code=1)["message"]
    assert not (home / ".claude.json").exists()
    settings.write_text('{"hooks": {"SessionEnd": {}}}')
    assert "SessionEnd" in house.json("install", "claude-code", code=4)["message"]
    settings.unlink()
    skill = home / ".claude/skills/ricordo/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("# somebody else's")
    assert "was not written by Ricordo" in house.json("install", "claude-code", code=4)["message"]
    assert not (home / ".claude.json").exists()
    assert house.json("uninstall", "claude-code")["files"][2]["status"] == "absent"
    assert skill.exists()


def test_broken_toml_is_left_alone(house: Any, home: Path) -> None:
    path = home / ".codex/config.toml"
    path.parent.mkdir()
    path.write_text("model = \n")
    assert "not valid TOML" in house.json("install", "codex", code=1)["message"]
    assert path.read_text() == "model = \n"
    path.write_text('mcp_servers = { other = { command = "y" } }\n')
    house.run("install", "codex")
    assert tomllib.loads(path.read_text())["mcp_servers"].keys() == {"other", "ricordo"}


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_an_error_with_a_hint(house: Any, home: Path) -> None:
    home.chmod(0o500)
    assert "cannot write" in house.json("install", "cursor", code=5)["message"]


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_linked_file_stays_a_link(house: Any, home: Path) -> None:
    real = home / "dotfiles.json"
    real.write_text("{}")
    (home / ".cursor").mkdir()
    (home / ".cursor/mcp.json").symlink_to(real)
    house.run("install", "cursor")
    assert (home / ".cursor/mcp.json").is_symlink()
    assert server(real, "mcpServers")["args"] == ["mcp"]


@pytest.mark.parametrize("agent", PROGRAMS)
def test_printing_shows_what_would_be_written_and_writes_nothing(house: Any, home: Path, agent: str) -> None:
    shown = house.json("install", agent, "--print")["files"]
    assert [*home.rglob("*"), *house.folder.rglob("*")] == []
    printed = house.run("install", agent, "--print").stdout
    house.run("install", agent)
    for one in shown:
        assert one["path"] in printed
        written, snippet = Path(one["path"]).read_text(encoding="utf-8"), one["content"]
        if one["path"].endswith(".json"):
            assert json.loads(snippet).items() <= json.loads(written).items()
        else:
            assert written.strip() == snippet.strip()


@pytest.mark.parametrize(
    ("place", "is_noted"),
    [
        (".cache/uv/archive-v0/Xy/bin/ricordo", True),
        (".cache/pipx/1a2b/bin/ricordo", True),
        (".local/share/uv/tools/ricordo/bin/ricordo", False),
        (".local/share/pipx/venvs/ricordo/bin/ricordo", False),
    ],
)
def test_a_program_that_is_kept_only_for_a_while_is_noted(
    house: Any, home: Path, monkeypatch: pytest.MonkeyPatch, place: str, is_noted: bool
) -> None:
    monkeypatch.setattr(install_verbs, "program_command", lambda: [str(home / place)])
    notes = house.json("install", "cursor")["notes"]
    assert any("uv tool install" in note for note in notes) is is_noted


def test_an_agent_that_is_not_known_is_wrong_usage(house: Any) -> None:
    assert "emacs" in house.json("install", "emacs", code=2)["message"]


@pytest.mark.parametrize("place", ["plugin/.claude-plugin", "plugin/.codex-plugin", "plugin/.cursor-plugin"])
def test_each_program_that_reads_the_plugin_has_a_manifest_whose_files_are_there(place: str) -> None:
    manifest = json.loads((ROOT / place / "plugin.json").read_text())
    assert (manifest["name"], manifest["version"]) == ("ricordo", __version__)
    named = [manifest[key] for key in ("skills", "hooks", "mcpServers") if key in manifest]
    assert [one for one in named if not one.startswith("./") or not (ROOT / "plugin" / one).exists()] == []


@pytest.mark.parametrize("place", [".claude-plugin", ".cursor-plugin"])
def test_the_marketplaces_lead_to_the_plugin(place: str) -> None:
    market = json.loads((ROOT / place / "marketplace.json").read_text())
    assert [(one["name"], (ROOT / one["source"]).resolve()) for one in market["plugins"]] == [
        ("ricordo", plugin_folder().resolve())
    ]


BRINGS = ["uvx", f"ricordo@{__version__}"]
"""What starts the program that need not be installed."""


@pytest.mark.parametrize("file", ["plugin/.mcp.json", "plugin/mcp.json", "packaging/gemini/gemini-extension.json"])
def test_a_plugin_starts_the_server_of_its_own_version(file: str) -> None:
    entry = json.loads((ROOT / file).read_text())["mcpServers"]["ricordo"]
    assert [entry["command"], *entry["args"]] == [*BRINGS, "mcp"]
    assert entry["args"][-1] in shown_commands()


@pytest.mark.parametrize(
    ("file", "events"),
    [
        ("plugin/hooks/hooks.json", EVENTS),
        ("plugin/hooks/codex.json", EVENTS),
        ("plugin/hooks/cursor.json", {"sessionStart": "session-start", "beforeSubmitPrompt": "user-prompt"}),
        (
            "packaging/gemini/hooks/hooks.json",
            {"SessionStart": "session-start", "BeforeAgent": "user-prompt", "SessionEnd": "session-end"},
        ),
    ],
)
def test_a_plugin_calls_the_hooks_of_its_own_version(file: str, events: dict[str, str]) -> None:
    hooks = json.loads((ROOT / file).read_text())["hooks"]
    commands = {event: (own[0].get("hooks") or own)[0]["command"].split() for event, own in hooks.items()}
    assert {event: words[:4] for event, words in commands.items()} == {
        event: [*BRINGS, "hook", name] for event, name in events.items()
    }


@pytest.mark.parametrize("skill", sorted((ROOT / "plugin" / "skills").iterdir()), ids=lambda one: one.name)
def test_a_skill_says_when_it_is_of_use_and_is_short(skill: Path) -> None:
    text = (skill / "SKILL.md").read_text()
    front = re.match(r"---\n(.+?)\n---\n", text, re.DOTALL)
    assert front
    about = yaml.safe_load(front[1])
    assert about["name"] == skill.name
    assert 100 < len(about["description"]) <= 1024
    assert len(text) < 4_000


def test_the_wheel_carries_the_plugin() -> None:
    targets = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]
    assert targets["wheel"]["force-include"]["plugin"] == "ricordo/plugins/install/agent_plugin"
    assert "plugin" in targets["sdist"]["include"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=4), inside, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=4), JSON, max_size=4), st.sampled_from([None, 1, "\t"]), JSON)
def test_an_edit_says_what_it_should_and_can_be_taken_back(plain: dict[str, Any], indent: Any, value: Any) -> None:
    text = json.dumps(plain, indent=indent)
    put = json_text.put(text, ("new!", "in"), value)
    assert json.loads(put) == {**plain, "new!": {"in": value}}
    assert json_text.drop(put, ("new!",)) == text
    more = json_text.append(json_text.append(text, ("list!",), value), ("list!",), 2)
    assert json.loads(more) == {**plain, "list!": [value, 2]}
    assert json_text.drop(json_text.drop(more, ("list!", 1)), ("list!",)) == text
    for name in plain:
        assert json.loads(json_text.put(text, (name,), value)) == {**plain, name: value}
        assert json.loads(json_text.drop(text, (name,))) == {k: v for k, v in plain.items() if k != name}
