"""Turns files into text, and finds their type, their title and where their pages start.

``read`` is the whole surface: it returns a ``Parsed``, or raises ``Unreadable`` (the file is at fault) or
``MissingExtra`` (a package is not installed), and nothing else. Formats whose parsers can hang or crash are read in a
worker process (``sandbox``).
"""
