"""The web page: server-rendered templates over the public methods of ``Ricordo``; no logic that the engine has."""

from ricordo.plugin import Plugin

PLUGIN = Plugin(__name__, "Shows the store in a browser.", page="site")
