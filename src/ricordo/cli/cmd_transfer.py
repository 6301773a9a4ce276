"""Commands that take a store elsewhere: export, migrate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ricordo.cli.call import Call, ask_for_passphrases
from ricordo.cli.generated import command
from ricordo.cli.terminal import ProgressLine, Screen
from ricordo.errors import UsageError


@command(
    "migrate",
    without=("target",),
    extra=(
        click.Argument(["source"], metavar="[FROM]", required=False),
        click.Argument(["target"], metavar="[TO]", required=False),
        click.Option(["--rekey"], is_flag=True, help="Keep the key of an encrypted store elsewhere (--key)."),
    ),
)
def _migrate(call: Call, source: str = "", target: str = "", rekey: bool = False, **given: Any) -> int:
    """Everything is copied: items with all versions, links, logs, what was learned, and vectors. FROM is only read. TO
    is empty, or was begun by an earlier run, which is taken up again. At the end both are compared, by counts and by
    hashes. Without TO, --encrypt and --decrypt change the store where it lies; nobody else may use it meanwhile.
    """
    from ricordo import Ricordo

    ask_for_passphrases()
    if not target:
        return _in_place(call, source, rekey=rekey, **given)
    if rekey:
        raise UsageError("--rekey changes a store where it lies", hint="Leave out TO.")
    with Ricordo.open(source, create=False) as engine, ProgressLine.for_call(call) as progress:
        report = engine.migrate(target, progress=progress, **given)

    def draw(screen: Screen) -> None:
        screen.line(f"{report.items:,} items are in {report.target}, {report.written:,} of them copied now")
        screen.note(f"{report.vectors:,} vectors came along; counts and hashes agree ({report.seconds:.1f} s)")

    return call.answer(report.to_dict(), draw)


def _in_place(
    call: Call, source: str, *, rekey: bool, encrypt: bool = False, decrypt: bool = False, key: str = ""
) -> int:
    """Encrypt or decrypt a store where it lies, or keep its key elsewhere."""
    from ricordo.config.loading import ConfigProvider
    from ricordo.config.places import locate
    from ricordo.engine import encryption

    if encrypt + decrypt + rekey != 1:
        raise UsageError(
            "there is no store to copy into", hint="Name it, or pass one of --encrypt, --decrypt, --rekey."
        )
    location = locate(source or call.store, ConfigProvider()(), Path.cwd(), call.tier).location
    if source and not location.address and not location.path.exists():
        raise UsageError(
            f"there is no store at {location.path}", hint="Name one that exists; a copy is made by ‹:migrate FROM TO›."
        )
    how = ""
    if encrypt:
        how = encryption.encrypt_in_place(location, key)
    elif rekey:
        how = encryption.keep_key_elsewhere(location, key)
    else:
        encryption.decrypt_in_place(location)

    def draw(screen: Screen) -> None:
        if how:
            screen.line(f"the store {location.name} is encrypted; its key is {how}")
            screen.note(
                "without the key nothing of it can be read: keep a copy of it, and of the file beside the store"
            )
        else:
            screen.line(f"the store {location.name} is no longer encrypted")

    return call.answer({"store": location.name, "encrypted": how or None}, draw)
