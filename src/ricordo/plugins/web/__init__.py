"""Pages of the web: URLs, the pages of a site, files on GitHub, and Google documents."""

from ricordo.config.declare import setting
from ricordo.frozen import frozen
from ricordo.plugin import Plugin


@frozen
class FetchSettings:
    """How pages are fetched, and what may be reached."""

    seconds: float = setting(30.0, "How long one page may take, redirects included.", minimum=0.1, maximum=3600)
    allow_private: bool = setting(False, "Reach private, loopback and metadata addresses too.")
    allow_hosts: tuple[str, ...] = setting((), "Hosts that may be reached although their address is private.")
    proxy: str = setting("", "A proxy's URL, or env for the one the environment names; empty is none.", secret=True)


PLUGIN = Plugin(
    __name__,
    "Adds pages of the web, and reads them again.",
    settings={"fetch": FetchSettings},
    on={"ref_of_address": "drives:ref_of", "page_reader": "pages:PageReader"},
)
