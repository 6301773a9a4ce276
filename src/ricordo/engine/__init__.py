"""The engine: what the command line, the MCP server and programs call, one method for each verb.

Verbs are methods of the classes in this folder and of plugins, declared with ``@verb``; a class inherits from those
whose verbs it calls. Each has the open context (``context``) and does the work. The engine holds no SQL, no scoring and
no parsing. What a verb needs is imported when it is called, because every hook and every command pays for its imports.
"""
