"""What runs on GitHub and in make: files that can be read, actions that nobody else can change, a tag that fits."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from ricordo._version import __version__

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
HASHED = re.compile(r"(\S+)@([0-9a-f]{40}) # (\S+)")


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def jobs() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in WORKFLOWS:
        for name, job in read(path)["jobs"].items():
            yield f"{path.name}: {name}", job


def test_workflows_and_templates_are_yaml_that_github_can_read() -> None:
    assert {path.stem for path in WORKFLOWS} == {"ci", "nightly", "publish", "vscode"}
    for path in WORKFLOWS:
        assert read(path)["permissions"] == {"contents": "read"}
    assert read(ROOT / ".github" / "dependabot.yml")["version"] == 2
    forms = [path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config"]
    assert len(forms) >= 2
    for path in forms:
        form = read(path)
        assert form["name"]
        assert form["description"]
        asked = [part for part in form["body"] if part["type"] != "markdown"]
        assert all(part["attributes"]["label"] for part in asked)
        assert len({part["id"] for part in asked}) == len(asked)


def test_every_action_is_named_by_its_commit_and_its_version() -> None:
    used = [
        line.partition("uses: ")[2]
        for path in WORKFLOWS
        for line in path.read_text(encoding="utf-8").splitlines()
        if "uses:" in line and "uses: ./" not in line
    ]
    assert used
    assert [line for line in used if not PINNED.fullmatch(line)] == []


def test_an_action_has_one_version_in_all_workflows() -> None:
    versions: dict[str, set[tuple[str, str]]] = {}
    for path in WORKFLOWS:
        for name, commit, version in HASHED.findall(path.read_text(encoding="utf-8")):
            versions.setdefault(name, set()).add((commit, version))
    assert [name for name, found in versions.items() if len(found) > 1] == []


def test_every_job_ends_by_itself() -> None:
    assert [name for name, job in jobs() if "timeout-minutes" not in job and "uses" not in job] == []


def test_a_tag_is_published_only_after_everything_that_a_change_must_pass() -> None:
    publish = dict(jobs())
    assert publish["publish.yml: tests"]["uses"] == "./.github/workflows/ci.yml"
    assert publish["publish.yml: build"]["needs"] == "tests"


def test_only_the_job_that_publishes_can_prove_who_it_is() -> None:
    proving = [name for name, job in jobs() if "id-token" in job.get("permissions", {})]
    assert proving == ["publish.yml: publish"]
    publish = dict(jobs())["publish.yml: publish"]
    assert publish["needs"] == "build"
    assert publish["environment"] == "release"
    assert [step for step in publish["steps"] if "run" in step] == []  # it runs no code of the tag
    assert publish["steps"][-1]["with"]["attestations"] is True


def test_what_workflows_and_pages_make_are_targets_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    phony = re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
    assert phony is not None
    assert set(phony[1].split()) == targets
    told = set(re.findall(r"(?:^# |; )make ([a-z]+)", makefile, re.MULTILINE))
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *(ROOT / "docs").glob("*.md")]
    for path in pages:
        told |= set(re.findall(r"`make ([a-z]+)", path.read_text(encoding="utf-8")))
    for path in WORKFLOWS:
        told |= set(re.findall(r"\bmake ([a-z]+)$", path.read_text(encoding="utf-8"), re.MULTILINE))
    assert {"test", "coverage", "demo"} <= told
    assert told - targets == set()


def test_tools_that_judge_are_pinned_and_others_have_an_upper_end() -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    tools = groups["dev"] + groups["release"]
    assert [tool for tool in tools if not re.search(r"==|~=|<", tool)] == []
    assert {tool.split()[0] for tool in tools if "==" in tool} == {"ruff", "mypy"}


def check_tag() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_tag", ROOT / "tools" / "check_tag.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("tag", "changelog", "complaint"),
    [
        (f"v{__version__}", f"## {__version__} (2026-12-01)", None),
        ("v9.9.9", f"## {__version__} (2026-12-01)", f"the tag must be v{__version__}"),
        (f"v{__version__}", "## 9.9.9 (2026-12-01)", "the topmost block of CHANGELOG.md is of 9.9.9"),
        (f"v{__version__}", f"## {__version__} (unreleased)", "has no date but 'unreleased'"),
        (f"v{__version__}", "nothing of this version", "the topmost block of CHANGELOG.md is of 0.0.1"),
    ],
)
def test_a_tag_must_fit_the_version_and_a_dated_block(
    tag: str, changelog: str, complaint: str | None, tmp_path: Path
) -> None:
    version = tmp_path / "src" / "ricordo" / "_version.py"
    version.parent.mkdir(parents=True)
    version.write_bytes((ROOT / "src" / "ricordo" / "_version.py").read_bytes())
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n{changelog}\n\n## 0.0.1 (2026-01-01)\n")
    found = check_tag().complaints(tag, tmp_path)
    if complaint is None:
        assert found == []
    else:
        assert len(found) == 1
        assert complaint in found[0]


def test_the_changelog_has_one_block_per_version_newest_first_and_only_the_first_may_lack_a_date() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^## (\d+)\.(\d+)\.(\d+) \((unreleased|\d{4}-\d\d-\d\d)\)$", text, re.MULTILINE)
    assert len(blocks) == text.count("\n## ")
    versions = [tuple(map(int, block[:3])) for block in blocks]
    assert versions == sorted(set(versions), reverse=True)
    assert [block for block in blocks[1:] if block[3] == "unreleased"] == []
