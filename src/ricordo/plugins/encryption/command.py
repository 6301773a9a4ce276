"""What the commands ``init`` and ``migrate`` can do besides: make an encrypted store, and encrypt one where it lies."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ricordo.cli.command import GLOBAL_OPTIONS
from ricordo.errors import UsageError
from ricordo.permissions import refuse_agents

if TYPE_CHECKING:
    from ricordo.cli.call import Call
    from ricordo.cli.command import Verb
    from ricordo.cli.terminal import Screen


def extend_init(command: Verb) -> None:
    """Give ``init`` the options for an encrypted store."""
    _add_options(
        command,
        click.Option(["--encrypt"], is_flag=True, help="Encrypt the new store."),
        click.Option(["--key"], metavar="WHERE", default="", help="With --encrypt: keyring, passphrase or a key file."),
    )
    command.examples += ("ricordo init --encrypt",)


def extend_migrate(command: Verb) -> None:
    """Let ``migrate`` encrypt and decrypt a store where it lies, and keep its key elsewhere."""
    rekey = click.Option(["--rekey"], is_flag=True, help="Keep the key of an encrypted store elsewhere (--key).")
    _add_options(command, rekey)
    command.examples += ("ricordo migrate --encrypt",)
    command.details += (
        " Without TO, --encrypt and --decrypt change the store where it lies; nobody else may use it meanwhile."
    )
    assert command.callback is not None, "commands that are written by hand have a function"
    command.callback = click.pass_obj(partial(_migrate, command.callback))


def _add_options(command: Verb, *options: click.Option) -> None:
    own = len(command.params) - len(GLOBAL_OPTIONS)
    command.params[own:own] = options


def _migrate(copy: Any, call: Call, /, target: str | None = None, rekey: bool = False, **given: Any) -> int:
    if not target:
        return _change_in_place(call, rekey=rekey, **given)
    if rekey:
        raise UsageError("--rekey changes a store where it lies", hint="Leave out TO.")
    return int(copy(target=target, **given))


def _change_in_place(
    call: Call, *, source: str | None, rekey: bool, encrypt: bool | None, decrypt: bool | None, key: str | None
) -> int:
    """Encrypt or decrypt a store where it lies, or keep its key elsewhere."""
    from ricordo.config.loading import ConfigProvider
    from ricordo.config.places import locate
    from ricordo.plugins.encryption import conversion

    if bool(encrypt) + bool(decrypt) + rekey != 1:
        raise UsageError(
            "there is no store to copy into", hint="Name it, or pass one of --encrypt, --decrypt, --rekey."
        )
    refuse_agents("decide who can read a store")
    location = locate(source or call.store, ConfigProvider()(), Path.cwd(), call.tier).location
    if source and not location.address and not location.path.exists():
        raise UsageError(
            f"there is no store at {location.path}", hint="Name one that exists; a copy is made by ‹:migrate FROM TO›."
        )
    place = ""
    if encrypt:
        place = conversion.encrypt_in_place(location, key or "")
    elif rekey:
        place = conversion.keep_key_elsewhere(location, key or "")
    else:
        conversion.decrypt_in_place(location)

    def draw(screen: Screen) -> None:
        if place:
            screen.line(f"the store {location.name} is encrypted; its key is {place}")
            screen.note(
                "without the key nothing of it can be read: keep a copy of it, and of the file beside the store"
            )
        else:
            screen.line(f"the store {location.name} is no longer encrypted")

    return call.answer({"store": location.name, "encrypted": place or None}, draw)
