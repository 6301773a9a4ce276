"""Make one file that runs without anything installed: ``python tools/make_single_file.py --python DIR --wheel FILE``.

The file is a shell script with an archive behind it: a Python, the wheel and what it needs. When it is first run it
unpacks itself into the user's cache, which takes seconds once; from then on it starts the Python there. It needs
``sh``, ``tar`` and ``gzip``, as every Linux and macOS has them, and runs on the system and processor that it was made
on. The Python must be one that can be moved, such as ``uv python install`` lays down; that is checked.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
from ricordo._version import __version__

LEFT_OUT = shutil.ignore_patterns(
    "__pycache__", "test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "site-packages",
    "config-*", "*.a", "include", "share", "pkgconfig", "tcl*", "tk*", "itcl*",
)  # fmt: skip
"""What of a Python no command needs."""
LAUNCHER = """\
#!/bin/sh
# Ricordo {version}. Behind these lines is an archive, which is unpacked once.
set -e
unset PYTHONHOME PYTHONPATH
export PYTHONNOUSERSITE=1
home="${{XDG_CACHE_HOME:-$HOME/.cache}}/ricordo-program/{version}-{key}"
if [ ! -x "$home/bin/python3" ]; then (
  PATH=/usr/bin:/bin
  mkdir -p "${{home%/*}}"
  fresh=$(mktemp -d "$home.XXXXXX")
  trap 'rm -rf "$fresh"' EXIT
  tail -n +{lines} "$0" | gzip -dc | tar -xf - -C "$fresh"
  [ -e "$home" ] || mv "$fresh" "$home"
) fi
exec "$home/bin/python3" -P -c '{start}' "$0" "$@"
"""
START = "import sys; del sys.argv[0]; from ricordo.cli import main; main()"
"""``sys.argv[0]`` becomes the file, so that ``ricordo install`` names it, not its cache."""
CHECK = """
import os, sys, ssl, sqlite3, zlib
assert sys.prefix == sys.argv[1], sys.prefix
maps = open("/proc/self/maps").read() if os.path.exists("/proc/self/maps") else ""
assert not [line for line in maps.splitlines() if "libpython" in line and sys.argv[1] not in line], maps
"""


def gathered(python: Path, wheel: Path, place: Path) -> None:
    """The Python, the package and what it needs, in one folder."""
    shutil.copytree(python, place, symlinks=True, ignore=LEFT_OUT)
    for script in (place / "bin").iterdir():
        if not script.name.startswith("python") or script.name.endswith("-config"):
            script.unlink()
    interpreter = place / "bin" / "python3"
    moved = subprocess.run([interpreter, "-c", CHECK, place], env={}, capture_output=True, text=True, check=False)
    if moved.returncode:
        raise SystemExit(f"{python} cannot be moved; take one of 'uv python install':\n{moved.stderr[-500:]}")
    (packages,) = (place / "lib").glob("python3.*")
    target = ["--target", str(packages / "site-packages")]
    asked = "import sys; print('.'.join(map(str, sys.version_info[:2])))"
    version = subprocess.run([interpreter, "-c", asked], capture_output=True, text=True, check=True).stdout.strip()
    wanted = ["--python-version", version, "--only-binary", ":all:", "--no-compile", *target]
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *wanted, str(wheel)], check=True)
    shutil.rmtree(packages / "site-packages" / "bin", ignore_errors=True)


def packed(folder: Path, file: Path) -> None:
    """The file that holds the folder; a launcher, and the archive behind it."""
    archive = file.with_name(f"{file.name}.tar.gz")
    with tarfile.open(archive, "w:gz", compresslevel=9) as tar:
        tar.add(folder, ".", filter=_of_nobody)
    content = archive.read_bytes()
    archive.unlink()
    parts = {"version": __version__, "key": hashlib.sha256(content).hexdigest()[:16], "start": START}
    lines = LAUNCHER.count("\n") + 1
    file.write_bytes(LAUNCHER.format(lines=lines, **parts).encode() + content)
    file.chmod(0o755)


def _of_nobody(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--python", type=Path, required=True, help="the folder of a Python that can be moved")
    parser.add_argument("--wheel", type=Path, required=True, help="the wheel of Ricordo")
    parser.add_argument("--out", type=Path, default=Path("dist"), help="the folder of the file (dist)")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    file = args.out / f"ricordo-{platform.system().lower()}-{platform.machine()}"
    with tempfile.TemporaryDirectory() as folder:
        place = Path(os.path.realpath(folder)) / "program"
        gathered(args.python, args.wheel, place)
        packed(place, file)
    print(f"{file}: {file.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
