"""Encrypted stores: how a key is made, kept and found again, and how a store is encrypted and decrypted."""

from ricordo.plugin import Plugin

PLUGIN = Plugin(
    __name__,
    "Encrypts stores.",
    cli="command",
    extends={"init": "command:extend_init", "migrate": "command:extend_migrate"},
    vault="keys:Keys",
    checks={"encryption": "conversion:check_encryption"},
    on={
        "status": "conversion:add_to_status",
        "before_store_is_made": "conversion:prepare_new_store",
        "before_copy": "conversion:prepare_copy",
    },
)
