"""A project with packages that are installed for it, as package managers leave them on the disk."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

CLIENT = '''
"""Talks to a shop."""
from typing import Literal, overload

raise RuntimeError("whoever imports this package runs it")

class _Base:
    def close(self) -> None:
        """End all connections."""

class Client(_Base):
    """A client with a pool of connections."""

    retries: int = 3

    def __init__(self, *, timeout: float = 5.0) -> None: ...

    def fetch_order(self, number: int, *, strict: bool = False) -> dict[str, str]:
        """Fetch one order.

        It raises an error where the shop has no such order.
        """

    @property
    def is_open(self) -> bool:
        """Whether connections are kept alive."""

    def _hidden(self) -> None: ...

@overload
def price(item: str) -> int: ...
@overload
def price(item: str, currency: Literal["EUR"]) -> float: ...
def price(item, currency=None):
    """Say what an item costs."""
'''
SHOPKIT: Mapping[str, str] = {
    "shopkit/__init__.py": '"""Tools for shops."""\nfrom ._client import *\n__all__ = ["Client", "price"]\n',
    "shopkit/_client.py": CLIENT,
    "shopkit/_fast.pyi": "def count_stock(shelf: int, /) -> int: ...\n",
    "shopkit/speed.py": "from ._fast import count_stock\n__all__ = ['count_stock']\n",
    "shopkit/tests/test_all.py": "def test_it(): ...\n",
}


class Project:
    """A project whose packages a test installs, upgrades and removes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.site = folder / ".venv/lib/python3.12/site-packages"
        self.site.mkdir(parents=True)

    def needs(self, *names: str) -> None:
        """Say in its manifest which packages it needs."""
        (self.folder / "pyproject.toml").write_text(f'[project]\nname = "shop"\ndependencies = {json.dumps(names)}\n')

    def install(self, name: str, version: str, files: Mapping[str, str], readme: str = "") -> None:
        """Install one version of a package in place of the one before."""
        self.uninstall(name)
        info = f"{name}-{version}.dist-info"
        about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: What {name} is for\n\n{readme}"
        for file, text in {**files, f"{info}/METADATA": about}.items():
            (self.site / file).parent.mkdir(parents=True, exist_ok=True)
            (self.site / file).write_text(text)
        (self.site / info / "RECORD").write_text("".join(f"{file},,\n" for file in [*files, f"{info}/METADATA"]))

    def uninstall(self, name: str) -> None:
        """Take a package away."""
        for place in [*self.site.glob(f"{name}-*.dist-info"), self.site / name]:
            shutil.rmtree(place, ignore_errors=True)

    def install_for_node(self, name: str, version: str, files: Mapping[str, str]) -> None:
        """Install a package below ``node_modules``, and name it in the manifest."""
        folder = self.folder / "node_modules" / name
        manifest = json.dumps({"name": name, "version": version, "types": "index.d.ts"})
        for file, text in {**files, "package.json": manifest}.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text)
        (self.folder / "package.json").write_text(json.dumps({"dependencies": {name: f"^{version}"}}))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project that needs ``shopkit``, which is installed; the call runs in its folder."""
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    made = Project(tmp_path / "shop")
    made.needs("shopkit >= 1", "absent")
    made.install("shopkit", "1.0", SHOPKIT, "# shopkit\n\nInstall it, then open a Client.\n")
    monkeypatch.chdir(made.folder)
    return made
