"""Where a student's texts come from: free packages alone, read as queries and passages, nothing of a judged set."""

from __future__ import annotations

import hashlib
import json
import lzma
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

DISTIL = Path(__file__).parents[2] / "tools" / "distil"

MODULE = '''
def weigh_parcel(parcel):
    """Return the weight of a parcel in grams.

    The scale is asked twice, and the mean of both answers is given back.
    """
    return (ask(parcel) + ask(parcel)) / 2
'''
SERVICE = {
    "openapi": "3.0.0",
    "info": {"title": "Parcel service", "description": "Sends parcels to any address in the country by bicycle."},
    "paths": {"/parcels": {"post": {"operationId": "createParcel", "summary": "Creates a parcel for a customer."}}},
}


def make_sources(folder: Path, licence: str = "MIT") -> None:
    """A copy of the tools with two small packages as their only sources."""
    shutil.copytree(DISTIL, folder / "distil", ignore=shutil.ignore_patterns("__pycache__", "sources.toml"))
    packages = folder / "packages"
    packages.mkdir()
    with zipfile.ZipFile(packages / "parcels-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("parcels/scale.py", MODULE)
        wheel.writestr(
            "parcels/README.md", "# Parcels\n\n## How to weigh a parcel\n\n" + "Put it on the scale first. " * 5
        )
    described = folder / "api.json"
    described.write_text(json.dumps(SERVICE))
    with tarfile.open(packages / "service-1.0.0.tgz", "w:gz") as tar:
        tar.add(described, "package/api.json")
    rows = [
        f'{{ registry = "pypi", name = "parcels", version = "1.0", file = "parcels-1.0-py3-none-any.whl", '
        f'licence = "{licence}", read = ["docs", "python"], sha256 = "" }}',
        '{ registry = "npm", name = "service", version = "1.0.0", file = "service-1.0.0.tgz", licence = "ISC", '
        'read = ["api"], sha256 = "" }',
    ]
    (folder / "distil" / "sources.toml").write_text(f'free = ["MIT", "ISC"]\ntext = [{", ".join(rows)}]\n')


def make_texts(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(folder / "distil" / "texts.py"), "--packages", str(folder / "packages")]
    command += ["--out", str(folder / "texts.jsonl.xz"), "--processes", "1", "--share", "0.02", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def written(folder: Path) -> dict[str, bool]:
    with lzma.open(folder / "texts.jsonl.xz", "rt", encoding="utf-8") as lines:
        return {text: bool(asks) for text, asks in map(json.loads, lines)}


class TestTexts:
    def test_headings_and_first_lines_are_queries_and_sections_are_passages(self, tmp_path: Path) -> None:
        make_sources(tmp_path)
        assert make_texts(tmp_path).returncode == 0
        found = written(tmp_path)
        assert found["How to weigh a parcel"] is True
        assert found["Return the weight of a parcel in grams."] is True
        assert found["Creates a parcel for a customer."] is True
        passages = [text for text, asks in found.items() if not asks]
        assert any(text.startswith("Parcels › How to weigh a parcel | Put it on the scale") for text in passages)
        assert any("def weigh_parcel" in text for text in passages)
        assert any(text.startswith("Parcel service create Parcel | Creates a parcel") for text in passages)

    def test_nothing_that_shares_eight_words_with_a_judged_set_is_kept(self, tmp_path: Path) -> None:
        make_sources(tmp_path)
        judged = tmp_path / "judged"
        judged.mkdir()
        row = {"_id": "1", "title": "", "text": "we return the weight of a parcel in grams here"}
        (judged / "corpus.jsonl").write_text(json.dumps(row) + "\n")
        (judged / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "what is a parcel"}) + "\n")
        assert make_texts(tmp_path, "--judged", str(judged)).returncode == 0
        assert not any("weight of a parcel in grams" in text for text in written(tmp_path))
        assert "How to weigh a parcel" in written(tmp_path)

    def test_a_package_under_another_licence_ends_the_run(self, tmp_path: Path) -> None:
        make_sources(tmp_path, licence="GPL-3.0-only")
        ended = make_texts(tmp_path)
        assert ended.returncode != 0
        assert "GPL-3.0-only is not among the licences" in ended.stderr
        assert not (tmp_path / "texts.jsonl.xz").exists()

    def test_the_same_packages_give_the_same_texts(self, tmp_path: Path) -> None:
        make_sources(tmp_path)
        make_texts(tmp_path)
        once = (tmp_path / "texts.jsonl.xz").read_bytes()
        make_texts(tmp_path)
        assert (tmp_path / "texts.jsonl.xz").read_bytes() == once

    def test_what_is_not_there_ends_the_run_unless_a_part_is_enough(self, tmp_path: Path) -> None:
        make_sources(tmp_path)
        (tmp_path / "packages" / "service-1.0.0.tgz").unlink()
        ended = make_texts(tmp_path)
        assert ended.returncode != 0
        assert "service-1.0.0.tgz is missing" in ended.stderr
        assert make_texts(tmp_path, "--partial").returncode == 0
        assert "How to weigh a parcel" in written(tmp_path)
        assert "Creates a parcel for a customer." not in written(tmp_path)


class TestFetching:
    def fetch(self, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(folder / "distil" / "fetch.py"), "--packages", str(folder / "packages")]
        command += ["--only", "texts", *options]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)

    def test_what_is_there_is_checked_and_not_fetched_again(self, tmp_path: Path) -> None:
        make_sources(tmp_path)
        sources = tmp_path / "distil" / "sources.toml"
        whole = hashlib.sha256((tmp_path / "packages" / "service-1.0.0.tgz").read_bytes()).hexdigest()
        first, _, last = sources.read_text().rpartition('sha256 = ""')
        sources.write_text(f'{first}sha256 = "{whole}"{last}')
        done = self.fetch(tmp_path)
        assert (done.returncode, done.stdout) == (0, "2 of 2 packages are there\n")
        (tmp_path / "packages" / "service-1.0.0.tgz").write_bytes(b"another")
        done = self.fetch(tmp_path)
        assert done.returncode == 1
        assert "service 1.0.0: is not the file that was used" in done.stdout

    @pytest.mark.parametrize("part", [("--every", "2"), ("--without", "npm")])
    def test_a_trial_fetches_a_part(self, tmp_path: Path, part: tuple[str, str]) -> None:
        make_sources(tmp_path)
        (tmp_path / "packages" / "service-1.0.0.tgz").unlink()
        done = self.fetch(tmp_path, *part)
        assert (done.returncode, done.stdout) == (0, "1 of 1 packages are there\n")


@pytest.mark.parametrize("kind", ["text", "model"])
def test_every_source_of_the_student_is_pinned_and_free(kind: str) -> None:
    import tomllib

    table = tomllib.loads((DISTIL / "sources.toml").read_text("utf-8"))
    assert table[kind]
    for source in table[kind]:
        assert source["licence"] in table["free"], source["name"]
        assert len(source["sha256"]) == 64
