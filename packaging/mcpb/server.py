"""Starts the MCP server of Ricordo for an MCP bundle."""

import sys

from ricordo.cli import main

sys.argv = ["ricordo", "mcp"]
main()
