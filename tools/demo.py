"""Show what Ricordo does: take examples/ into a throw-away store, and search it three ways."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
SEARCHES = (
    ("A note that never uses the word: found by meaning.", "notes about productivity"),
    ("A question in plain words.", "how do I know that a token is genuine?"),
    ("An identifier, spelled another way: found by its parts.", "retryWithBackoff"),
)

PAGE = """
# Now open the page in your browser. It runs on this machine alone, and the link it prints signs you in:
$ {ricordo} --store demo.db add examples
$ {ricordo} --store demo.db serve --open"""


def main() -> int:
    """Run the commands one by one; the first that fails ends the demo with its exit code."""
    with tempfile.TemporaryDirectory(prefix="ricordo-demo-") as folder:
        # The demo must not read or change the user's own settings and stores.
        env = os.environ | {"RICORDO_CONFIG_HOME": folder, "RICORDO_DATA_HOME": folder}
        store = ("--store", str(Path(folder) / "demo.db"))
        steps = [("Take in a folder.", ("add", "examples"))]
        steps += [(about, ("search", query, "--limit", "3", "--explain")) for about, query in SEARCHES]
        for about, arguments in steps:
            print(f"\n# {about}\n$ ricordo {shlex.join(arguments)}", flush=True)
            code = subprocess.run([sys.executable, "-m", "ricordo", *store, *arguments], cwd=ROOT, env=env).returncode
            if code:
                return code
    print(PAGE.format(ricordo=shlex.quote(os.path.relpath(Path(sys.executable).parent / "ricordo"))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
