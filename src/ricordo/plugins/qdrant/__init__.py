"""Qdrant, a search engine beside the server of a store: in this process, or a cluster over the network."""

from ricordo.config.declare import setting
from ricordo.frozen import frozen
from ricordo.plugin import Plugin


@frozen
class IndexSettings:
    """Where the engine is."""

    index_address: str = setting(
        "",
        "Where Qdrant searches beside a store in PostgreSQL: http://host:6333, or a folder for the engine inside one"
        " process; its key is in QDRANT_API_KEY. Empty is the store's own index.",
    )


PLUGIN = Plugin(
    __name__,
    "Searches vectors of large stores in PostgreSQL with Qdrant.",
    needs=("postgres",),
    verbs=("verbs:IndexVerbs",),
    cli="show",
    settings={"store": IndexSettings},
    on={"opened_on_server": "verbs:feed_engine"},
)
