"""Which machine this is: an id that never changes, and a name that people choose.

Both are in the user's data folder, not among the settings, because people copy their settings to other machines.
"""

from __future__ import annotations

import json
import os
import re
from functools import lru_cache
from pathlib import Path

from ricordo.config.files import data_home, locked, random_key, read_bytes, write_json
from ricordo.config.state import user_folder
from ricordo.digests import hash_of
from ricordo.errors import Unavailable, UsageError
from ricordo.frozen import frozen

MACHINE_NAME = "machine.json"
KEY_NAME = "machine.key"
_ID_BYTES = 4
_LONGEST = 60


@frozen
class Machine:
    """One machine, as one user sees it."""

    id: str
    name: str

    def __str__(self) -> str:
        """The form in which versions record it: the name, for people, and the id, which stays when the name changes."""
        return f"{self.name}#{self.id}"


def this_machine() -> Machine:
    """The machine that this process runs on; its id is made when it is first asked for."""
    return _known(user_folder("data", os.environ))  # every save asks, and a Path takes longer than all else


def name_machine(name: str) -> Machine:
    """Give this machine another name; its id stays."""
    name = " ".join(name.split())
    if not re.fullmatch(rf"[\w][\w .-]{{0,{_LONGEST - 1}}}", name):
        raise UsageError(
            f"'{name}' cannot be the name of a machine",
            hint=f"At most {_LONGEST} letters, digits, spaces and . _ -, such as laptop.",
        )
    home = data_home(os.environ)
    machine = Machine(this_machine().id, name)
    _write(home, machine)
    _known.cache_clear()
    return machine


def machine_key() -> bytes:
    """What only this machine knows: with it, it recognises what it wrote itself. It is made when it is first needed."""
    return random_key(data_home(os.environ) / KEY_NAME)


@lru_cache(maxsize=16)
def _known(folder: str) -> Machine:
    home = Path(folder)
    try:
        return _read(home) or _make(home)
    except (OSError, Unavailable):  # the folder cannot be written: the host's name is all that is known
        import socket

        host = socket.gethostname()
        return Machine(hash_of(host.encode())[: 2 * _ID_BYTES], host)


def _read(home: Path) -> Machine | None:
    try:
        plain = json.loads(read_bytes(home / MACHINE_NAME) or b"null")
        return Machine(str(plain["id"]), str(plain["name"]))
    except (ValueError, KeyError, TypeError):
        return None


def _make(home: Path) -> Machine:
    """A new id, made once: of two processes that make it at the same time, one wins."""
    with locked(home / MACHINE_NAME):
        machine = _read(home)
        if machine is None:
            import secrets
            import socket

            machine = Machine(secrets.token_hex(_ID_BYTES), socket.gethostname().split(".")[0] or "machine")
            _write(home, machine)
    return machine


def _write(home: Path, machine: Machine) -> None:
    write_json(home / MACHINE_NAME, {"id": machine.id, "name": machine.name})
