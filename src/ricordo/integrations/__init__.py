"""Adapters for what an MCP client cannot do: LangGraph's store and Anthropic's memory tool."""
