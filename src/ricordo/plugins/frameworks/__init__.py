"""Adapters for what an MCP client cannot do: LangGraph's store and Anthropic's memory tool."""

from ricordo.plugin import Plugin

PLUGIN = Plugin(__name__, "LangGraph's store and Anthropic's memory tool, kept in Ricordo.")
