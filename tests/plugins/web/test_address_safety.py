"""No URL, redirect or name leads to an address that is not public, unless the user allowed it."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpcore
import pytest

from ricordo import ConfigProvider, Ricordo
from ricordo.plugins.web.addresses import is_public

from ...conftest import error_of
from .conftest import Site, article, redirect

CERTIFICATE = Path(__file__).parents[2] / "fixtures" / "tls" / "wiki.test.pem"
PUBLIC = ["93.184.216.34", "8.8.8.8", "1.1.1.1", "2606:2800:220:1::1", "::ffff:8.8.8.8", "64:ff9b::808:808"]
NOT_PUBLIC = [
    "127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",
    "169.254.169.254", "100.64.0.1", "100.100.100.200", "168.63.129.16", "192.0.0.192", "192.0.2.1", "198.18.0.1",
    "198.51.100.1", "203.0.113.9", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "192.88.99.1",
    "::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2002:a00:1::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:db8::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "100::1",
    "2606:2800:220:1::1%eth0",
]  # fmt: skip


@pytest.mark.parametrize("address", PUBLIC)
def test_addresses_of_the_open_internet_may_be_reached(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_addresses_of_inner_networks_may_not_be_reached(address: str) -> None:
    assert not is_public(ip_address(address))


class Net:
    """Names as an attacker serves them, and a record of the addresses that were connected to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: dict[str, Iterator[str] | str] = {}
        self.connected: list[tuple[str, int]] = []
        lookup, connect = socket.getaddrinfo, httpcore.SyncBackend.connect_tcp

        def looked_up(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
            known = self.names.get(host)
            if known is None:
                return lookup(host, port, *rest, **more)
            address = known if isinstance(known, str) else next(known)
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            return [(family, socket.SOCK_STREAM, 6, "", (address, port))]

        def connected(backend: Any, host: str, port: int, *rest: Any, **more: Any) -> Any:
            self.connected.append((host, port))
            if is_public(ip_address(host)):
                raise httpcore.ConnectError("there is no internet in tests")
            return connect(backend, host, port, *rest, **more)

        monkeypatch.setattr(socket, "getaddrinfo", looked_up)
        monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", connected)


@pytest.fixture
def net(monkeypatch: pytest.MonkeyPatch) -> Net:
    return Net(monkeypatch)


def test_an_address_with_a_zone_is_refused_before_anything_is_asked(pages: Ricordo, net: Net) -> None:
    report = pages.add("http://[2606:2800:220:1::1%25eth0]/")
    assert report.failed == 1
    assert "no valid host" in str(report.items[0].to_dict())
    assert net.connected == []


TRICKS = [
    "http://127.0.0.1:{port}/", "http://localhost:{port}/", "http://127.1:{port}/", "http://2130706433:{port}/",
    "http://0x7f000001:{port}/", "http://0x7f.0.0.1:{port}/", "http://0177.0.0.1:{port}/", "http://0.0.0.0:{port}/",
    "http://[::1]:{port}/", "http://[::ffff:127.0.0.1]:{port}/", "http://[::ffff:7f00:1]:{port}/",
    "http://[64:ff9b::7f00:1]:{port}/", "http://[2002:7f00:1::]:{port}/", "http://１２７.０.０.１:{port}/",
    "http://127。0。0。1:{port}/", "http://127.0.0.1.:{port}/", "http://127%2e0%2e0%2e1:{port}/",
    "http://victim.test:{port}/", "http://VICTIM.test.:{port}/", "http://mapped.test:{port}/",
    "http://rebinding.test:{port}/", "http://front.test@127.0.0.1:{port}/", "http://127.0.0.1:{port}\\@front.test/",
    "http://169.254.169.254/latest/meta-data/", "http://metadata.test/computeMetadata/v1/", "//127.0.0.1:{port}/",
    "file:///etc/passwd", "gopher://127.0.0.1:{port}/_x", "dict://127.0.0.1:{port}/", "http:127.0.0.1:{port}",
]  # fmt: skip


@pytest.fixture
def tricky(net: Net) -> Net:
    def rebinding() -> Iterator[str]:
        yield "93.184.216.34"
        while True:
            yield "127.0.0.1"

    net.names |= {
        "front.test": "127.0.0.1",
        "victim.test": "127.0.0.1",
        "mapped.test": "::ffff:127.0.0.1",
        "metadata.test": "169.254.169.254",
        "rebinding.test": rebinding(),
    }
    return net


def test_no_trick_in_a_url_reaches_a_private_address(
    open_engine: Callable[..., Ricordo], site: Site, tricky: Net
) -> None:
    engine = open_engine()
    urls = [trick.format(port=site.port) for trick in TRICKS if "://" in trick]
    report = engine.add(*urls)
    assert {saved.status for saved in report.items} == {"failed"}
    assert len(report.items) > 20
    assert site.asked == []
    assert [address for address, _ in tricky.connected if not is_public(ip_address(address))] == []


@pytest.mark.parametrize("trick", TRICKS)
def test_no_redirect_reaches_a_private_address(
    open_engine: Callable[..., Ricordo], site: Site, other_site: Site, tricky: Net, trick: str
) -> None:
    engine = open_engine(**{"fetch.allow_hosts": [f"front.test:{other_site.port}"]})
    other_site.routes["/a"] = redirect("/b")
    other_site.routes["/b"] = redirect(trick.format(port=site.port))
    saved = engine.add(f"http://front.test:{other_site.port}/a").items[0]
    assert saved.status == "failed"
    assert site.asked == []
    assert set(tricky.connected) <= {("127.0.0.1", other_site.port), ("93.184.216.34", site.port)}


def test_a_name_that_turns_private_is_connected_to_where_it_was_judged(
    open_engine: Callable[..., Ricordo], site: Site, tricky: Net
) -> None:
    saved = open_engine().add(f"http://rebinding.test:{site.port}/").items[0]
    assert error_of(saved)["code"] == "unavailable"
    assert tricky.connected == [("93.184.216.34", site.port)]


def test_a_refusal_names_the_host_and_how_to_allow_it(open_engine: Callable[..., Ricordo], site: Site) -> None:
    error = error_of(open_engine().add(f"{site.root}/").items[0])
    assert error["code"] == "forbidden"
    assert "127.0.0.1" in error["message"]
    assert "fetch.allow_hosts 127.0.0.1" in error["hint"]


def test_a_host_that_is_allowed_is_reached_and_others_are_not(
    open_engine: Callable[..., Ricordo], site: Site, net: Net
) -> None:
    net.names |= {"wiki.test": "127.0.0.1", "victim.test": "127.0.0.1"}
    engine = open_engine(**{"fetch.allow_hosts": ["wiki.test"]})
    site.page("/", article("Ours"))
    report = engine.add(f"http://wiki.test:{site.port}/", f"http://victim.test:{site.port}/")
    assert [saved.status for saved in report.items] == ["created", "failed"]


def test_a_page_may_be_refreshed_only_where_it_may_be_added(
    open_engine: Callable[..., Ricordo], site: Site, tmp_path: Path
) -> None:
    url = site.page("/a", article("A"))
    open_engine("one", **{"fetch.allow_private": True}).add(url)
    refreshed = open_engine("one").refresh(url).items[0]
    assert (refreshed.status, error_of(refreshed)["code"]) == ("failed", "forbidden")
    assert len(site.asked) == 1


def test_a_project_that_nobody_trusts_makes_no_host_reachable(site: Site, tmp_path: Path) -> None:
    url = site.page("/a", article("A"))
    folder = tmp_path / "cloned" / ".ricordo"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(
        '[fetch]\nallow_private = true\nallow_hosts = ["127.0.0.1"]\n'
        f'proxy = "{site.root}"\n[embedding]\nprovider = "none"\n'
    )
    provider = ConfigProvider({"embedding.provider": "none"}, start=folder.parent)
    with Ricordo.open(tmp_path / "s.db", config=provider) as engine:
        assert engine.config.untrusted
        assert error_of(engine.add(url).items[0])["code"] == "forbidden"
    assert site.asked == []


@pytest.fixture
def secure(net: Net) -> Iterator[int]:
    """The port of a server that has a certificate for wiki.test, which nobody trusts."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = article("Secured").encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            pass  # clients that do not trust it hang up

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    server = Server(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    net.names |= {"wiki.test": "127.0.0.1", "other.test": "127.0.0.1"}
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def test_a_certificate_is_checked_for_the_name_though_the_address_is_fixed(
    open_engine: Callable[..., Ricordo], secure: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = open_engine(**{"fetch.allow_private": True})
    untrusted = error_of(engine.add(f"https://wiki.test:{secure}/").items[0])
    assert (untrusted["code"], "SSL_CERT_FILE" in untrusted["hint"]) == ("forbidden", True)
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    report = engine.add(f"https://wiki.test:{secure}/", f"https://other.test:{secure}/")
    assert [saved.status for saved in report.items] == ["created", "failed"]
    assert "other.test" in error_of(report.items[1])["message"]
