"""The toolset ``verbs``: every verb that agents may call and that no other set has, as it is declared."""

from __future__ import annotations

from ricordo.mcp_server.mapped import generated

TOOLS = generated()
