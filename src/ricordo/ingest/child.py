"""Starts a Python process of our own, with two pipes to it."""

from __future__ import annotations

import json
import subprocess
import sys

_BOOTSTRAP = (
    "import json, sys; from importlib import import_module; sys.path[:] = json.loads(sys.argv[1]);"
    " import_module(sys.argv[2]).main()"
)


def start(module: str) -> subprocess.Popen[bytes]:
    """A process that runs ``main`` of a module. It gets our own search path, however that was made, and never the
    current folder.
    """
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _BOOTSTRAP, json.dumps([place for place in sys.path if place]), module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,  # so that a fork of this process holds no half-written message
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )
