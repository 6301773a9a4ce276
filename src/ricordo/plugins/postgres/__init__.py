"""A store in PostgreSQL, for teams: the same behaviour as the SQLite file, on a server."""

from ricordo.plugin import Command, Plugin

PLUGIN = Plugin(
    __name__,
    "Keeps a store on a PostgreSQL server, for one person or a team.",
    needs=("transfer",),
    verbs=("verbs:TeamVerbs",),
    commands={
        "team": Command(
            "look after",
            "Make a team of a store on a server, and say who may do what.",
            "status",
            "A team shares a store on a server. Its members are roles of that server: readers search, and writers save."
            " Whoever owns the store's schema invites and upgrades.",
        )
    },
    cli="show",
    stores={"postgresql": "address:parse", "postgres": "address:parse"},
)
