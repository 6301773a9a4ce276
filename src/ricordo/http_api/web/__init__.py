"""The page: server-rendered templates over the public methods of ``Ricordo``; no logic that the engine has."""
