"""The page and the API: one server, started by ``ricordo serve``, that answers browsers, programs, agents and hooks.

``app`` puts it together, ``guard`` decides who may ask, the ``*_routes`` modules hold the verbs of the API, ``web``
the page. Every answer comes from a method of ``Ricordo``.
"""
