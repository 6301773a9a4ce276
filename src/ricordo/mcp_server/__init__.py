"""The MCP server: what an agent can call. It parses, calls the engine and shapes the answer; no logic lives here.

``tool`` says what a tool is and checks arguments, the ``*_tools`` modules hold the tools, ``service`` runs them on a
store that is opened when first needed, ``protocol`` answers requests, ``stdio`` and ``http`` carry them.
"""
