"""Which drive a URL belongs to, how GitHub and Google Docs are read, and what plugins may add."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import pytest

from ricordo import Error, Ricordo
from ricordo.plugins.web import FetchSettings
from ricordo.plugins.web.drives import OpenWeb
from ricordo.plugins.web.values import FetchedPage, LoadedPage, PageRequest

from ...conftest import error_of
from .conftest import Answer, Site, article, redirect, with_etag

README = "# The project\n\nIt keeps watch over the harbour.\n"


@pytest.mark.parametrize(
    ("url", "ref"),
    [
        ("https://github.com/sea/log", "github:/sea/log"),
        ("https://github.com/sea/log.git", "github:/sea/log"),
        ("http://www.github.com/sea/log/", "github:/sea/log"),
        ("https://github.com/sea/log/blob/main/docs/a.md#L4-L9", "github:/sea/log/blob/main/docs/a.md"),
        ("https://github.com/sea/log/raw/main/docs/a.md", "github:/sea/log/blob/main/docs/a.md"),
        ("https://raw.githubusercontent.com/sea/log/main/docs/a.md", "github:/sea/log/blob/main/docs/a.md"),
        ("https://raw.githubusercontent.com/sea/log/refs/heads/main/a.md", "github:/sea/log/blob/main/a.md"),
        ("https://github.com/sea/log/tree/main/docs", "github:/sea/log/tree/main/docs"),
        ("https://github.com/sea/log/issues/7", "github:/sea/log/issues/7"),
        ("https://github.com/features/actions", "url:/https://github.com/features/actions"),
        ("https://github.com/sea", "url:/https://github.com/sea"),
        ("https://notgithub.com/sea/log", "url:/https://notgithub.com/sea/log"),
        ("https://github.com.evil.example/sea/log", "url:/https://github.com.evil.example/sea/log"),
        ("https://docs.google.com/document/d/1AbCdEf_gh-IJ/edit?usp=sharing", "google-docs:/1AbCdEf_gh-IJ"),
        ("https://docs.google.com/document/u/1/d/1AbCdEf_gh-IJ/", "google-docs:/1AbCdEf_gh-IJ"),
        ("https://docs.google.com/spreadsheets/d/1AbCdEf_gh-IJ/edit#gid=0", "google-docs:/1AbCdEf_gh-IJ"),
        ("https://docs.google.com/presentation/d/1AbCdEf_gh-IJ", "google-docs:/1AbCdEf_gh-IJ"),
        ("https://docs.google.com/forms/d/1AbCdEf_gh-IJ", "url:/https://docs.google.com/forms/d/1AbCdEf_gh-IJ"),
        ("https://example.org/a?utm_source=x", "url:/https://example.org/a?utm_source=x"),
        ("https://EXAMPLE.org", "url:/https://example.org/"),
        ("http://example.org:80/%7Ea/Ü", "url:/http://example.org/%7Ea/%C3%9C"),
        ("https://bücher.example/a", "url:/https://xn--bcher-kva.example/a"),
    ],
)
def test_a_url_belongs_to_a_drive(url: str, ref: str) -> None:
    assert str(OpenWeb(FetchSettings()).place(url).ref) == ref


def test_the_server_that_served_a_page_can_tell_its_drive() -> None:
    drives = OpenWeb(FetchSettings())
    url = "https://drive.google.com/open?id=1AbCdEf_gh-IJ"
    assert str(drives.place(url).ref) == f"url:/{url}"
    assert str(drives.place(url, server="google_docs-mcp").ref) == "google-docs:/1AbCdEf_gh-IJ"
    assert str(drives.place(url, server="firecrawl").ref) == f"url:/{url}"
    assert str(drives.place("https://example.org/", server="google-docs").ref) == "url:/https://example.org/"


@pytest.fixture
def github(open_engine: Callable[..., Ricordo], site: Site, monkeypatch: pytest.MonkeyPatch) -> Ricordo:
    """An engine whose GitHub is the site on the loopback, with its parts below three paths."""
    site.routes |= {
        "/raw/sea/log/main/a.py": Answer(b"def watch(ship):\n    return ship.name\n", mime="text/plain"),
        "/api/repos/sea/log/readme": Answer(README.encode(), mime="application/vnd.github.raw+json; charset=utf-8"),
        "/api/repos/sea/log/readme/docs?ref=main": Answer(b"# Docs\n\nRead me too.\n", mime="text/plain"),
        "/web/sea/log/issues/7": Answer(article("The lamp is out").encode()),
    }
    monkeypatch.setattr("ricordo.plugins.web.drives.SITE", f"{site.root}/web")
    monkeypatch.setattr("ricordo.plugins.web.drives.RAW", f"{site.root}/raw")
    monkeypatch.setattr("ricordo.plugins.web.drives.API", f"{site.root}/api")
    monkeypatch.setattr("ricordo.plugins.web.drives.DOCS_SITE", site.root)
    return open_engine(
        **{
            "fetch.allow_private": True,
        }
    )


def test_a_repository_is_its_readme_and_a_file_is_itself(github: Ricordo, site: Site) -> None:
    base = f"{site.root}/web/sea/log"
    report = github.add(base, f"{base}/blob/main/a.py", f"{base}/tree/main/docs", f"{base}/issues/7")
    assert [saved.ref for saved in report.items] == [
        "github:/sea/log",
        "github:/sea/log/blob/main/a.py",
        "github:/sea/log/tree/main/docs",
        "github:/sea/log/issues/7",
    ]
    assert {saved.status for saved in report.items} == {"created"}
    readme = github.get(base)
    assert (readme.title, readme.content, readme.fields.source_url) == ("The project", README, base)
    assert github.get("github:/sea/log/blob/main/a.py").fields.mime_type == "text/x-python"
    assert github.get(f"{base}/issues/7").title == "The lamp is out"


def test_github_is_refreshed_through_its_source_url(github: Ricordo, site: Site) -> None:
    site.routes["/api/repos/sea/log/readme"] = with_etag(README, "1")
    github.add(f"{site.root}/web/sea/log")
    assert github.refresh(all=True).count("unchanged") == 1
    site.routes["/api/repos/sea/log/readme"] = with_etag(README + "\nAnd the lamp.\n", "2")
    assert github.refresh("github:/sea/log").count("updated") == 1
    assert "lamp" in github.get("github:/sea/log").content


def test_the_token_goes_to_github_and_to_no_one_it_redirects_to(
    github: Ricordo, site: Site, other_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_secret")
    other_site.page("/stolen", "# Elsewhere\n\nA page.", mime="text/markdown")
    site.routes["/raw/sea/log/main/b.md"] = redirect(f"{other_site.root}/stolen")
    plain = site.page("/plain", article("Plain"))
    report = github.add(f"{site.root}/web/sea/log", f"{site.root}/web/sea/log/blob/main/b.md", plain)
    assert {saved.status for saved in report.items} == {"created"}
    sent = {asked.path: asked.headers.get("authorization") for asked in site.asked}
    assert sent == {"/api/repos/sea/log/readme": "Bearer ghp_secret", "/raw/sea/log/main/b.md": "Bearer ghp_secret",
                    "/plain": None}  # fmt: skip
    assert [asked.headers.get("authorization") for asked in other_site.asked] == [None]


def test_a_private_repository_and_a_rate_limit_say_to_set_a_token(
    github: Ricordo, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    site.routes["/api/repos/sea/busy/readme"] = Answer(b"{}", 403)
    private, busy = github.add(f"{site.root}/web/sea/private", f"{site.root}/web/sea/busy").items
    assert (error_of(private)["code"], "GITHUB_TOKEN" in error_of(private)["hint"]) == ("not_found", True)
    assert (error_of(busy)["code"], "GITHUB_TOKEN" in error_of(busy)["hint"]) == ("forbidden", True)


def test_a_google_document_is_exported_as_markdown_and_titled_by_its_name(github: Ricordo, site: Site) -> None:
    site.page(
        "/document/d/1AbCdEf_gh-IJ/export?format=md", "Keep watch.\n\n## Ships\n\nAll of them.\n", mime="text/markdown",
        headers={"Content-Disposition": "attachment; filename=\"x.md\"; filename*=UTF-8''The%20watch.md"},
    )  # fmt: skip
    url = f"{site.root}/document/d/1AbCdEf_gh-IJ/edit"
    assert github.add(url).items[0].ref == "google-docs:/1AbCdEf_gh-IJ"
    item = github.get(url)
    assert (item.title, item.fields.mime_type) == ("The watch", "text/markdown")
    assert "## Ships" in item.content
    assert github.refresh("google-docs:/1AbCdEf_gh-IJ").count("unchanged") == 1


def test_an_old_document_is_exported_as_text(github: Ricordo, site: Site) -> None:
    site.routes["/document/d/1AbCdEf_gh-IJ/export?format=md"] = Answer(b"no such format", 400)
    site.page("/document/d/1AbCdEf_gh-IJ/export?format=txt", "Plain words.", mime="text/plain")
    assert github.add(f"{site.root}/document/d/1AbCdEf_gh-IJ/edit").items[0].status == "created"
    assert github.get("google-docs:/1AbCdEf_gh-IJ").content == "Plain words."


@pytest.mark.parametrize(
    "answer",
    [Answer(b"", 401), Answer(b"", 403), Answer(b'<html><form action="/ServiceLogin">Sign in</form></html>')],
)
def test_a_private_document_says_how_to_share_it(github: Ricordo, site: Site, answer: Answer) -> None:
    site.routes["/document/d/1AbCdEf_gh-IJ/export?format=md"] = answer
    error = error_of(github.add(f"{site.root}/document/d/1AbCdEf_gh-IJ/edit").items[0])
    assert (error["code"], "private" in error["message"]) == ("forbidden", True)
    assert "Anyone with the link" in error["hint"]


class Wiki:
    """A drive as a plugin brings it."""

    name = "wiki"
    servers: Sequence[str] = ("wiki",)

    def __init__(self, settings: FetchSettings) -> None:
        pass

    def path_of(self, url: str, *, served: bool = False) -> str | None:
        return "/" + url.rpartition("/")[2] if "/wiki/" in url else None

    def request(self, url: str) -> PageRequest:
        return PageRequest(url.replace("/wiki/", "/api/"))

    def problem(self, page: FetchedPage | Error) -> Error | None:
        return None


class Taken(Wiki):
    name = "memory"


class Careless(Wiki):
    name = "careless"

    def path_of(self, url: str, *, served: bool = False) -> str | None:
        raise KeyError(url)


class Clumsy(Wiki):
    name = "clumsy"

    def request(self, url: str) -> PageRequest:
        raise IndexError("too far")


def use_plugins(monkeypatch: pytest.MonkeyPatch, **plugins: Any) -> None:
    class Entry(EntryPoint):
        def load(self) -> Any:
            return plugins[self.name]

    entries = EntryPoints(Entry(name, f"{name}:make", "ricordo.sources") for name in plugins)
    monkeypatch.setattr("ricordo.plugins.web.drives.entry_points", lambda **_: entries)


def test_a_plugin_adds_a_drive(pages: Ricordo, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    use_plugins(monkeypatch, wiki=Wiki)
    site.page("/api/Rocks", article("Rocks"))
    url = f"{site.root}/wiki/Rocks"
    assert pages.add(url).items[0].ref == "wiki:/Rocks"
    assert pages.get(url).title == "Rocks"
    assert pages.refresh("wiki:/Rocks").count("unchanged") == 1


def test_a_broken_plugin_is_a_warning_and_the_page_is_added(
    pages: Ricordo, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_plugins(monkeypatch, broken=None, taken=Taken, careless=Careless)
    report = pages.add(site.page("/a", article("A")))
    assert report.items[0].status == "created"
    assert [note.partition("'")[2].partition("'")[0] for note in report.notes] == ["broken", "taken", "careless"]


def test_a_plugin_that_fails_for_a_page_fails_that_page_alone(
    pages: Ricordo, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_plugins(monkeypatch, clumsy=Clumsy)
    fine = site.page("/a", article("A"))
    clumsy, added = pages.add(f"{site.root}/wiki/Rocks", fine).items
    error = error_of(clumsy)
    assert (error["code"], "clumsy" in error["message"], added.status) == ("contract", True, "created")


class Agent:
    """A loader as a model with MCP servers is one."""

    def __init__(self, answers: Mapping[str, LoadedPage | Error | None]) -> None:
        self.answers = answers
        self.prompts: list[str] = []
        self.notes: list[str] = []
        self.closed = False

    def load(
        self, url: str, prompt_addition: str = "", *, before: Mapping[str, Any] | None = None
    ) -> LoadedPage | None:
        self.prompts.append(prompt_addition)
        answer = self.answers[url]
        if isinstance(answer, Error):
            raise answer
        return answer

    def close(self) -> None:
        self.closed = True


def test_a_loader_brings_pages_and_hands_back_those_it_does_not_know(
    pages: Ricordo, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = site.page("/plain", article("Plain"))
    full = "<p>kept\r\nas it stands</p>\n" * 9
    document = "https://drive.google.com/open?id=1AbCdEf_gh-IJ"
    agent = Agent({plain: None, document: LoadedPage(full, "The plan", "text/html", "google-docs"),
                   "https://closed.example/": Error("it is closed", hint="Ask the owner.")})  # fmt: skip
    monkeypatch.setattr("ricordo.plugins.web.pages.ask", lambda *_: [agent])
    report = pages.add(plain, document, "https://closed.example/", prompt_addition="be quick")
    assert [saved.ref for saved in report.items] == [
        f"url:/{plain}", "google-docs:/1AbCdEf_gh-IJ", "url:/https://closed.example/"
    ]  # fmt: skip
    assert error_of(report.items[2])["message"] == "it is closed"
    item = pages.get("google-docs:/1AbCdEf_gh-IJ")
    assert (item.content, item.title, item.fields.source_adapter) == (full, "The plan", "mcp:google-docs")
    assert set(agent.prompts) == {"be quick"}
    assert agent.closed
    assert pages.refresh("google-docs:/1AbCdEf_gh-IJ").count("unchanged") == 1
    monkeypatch.setattr("ricordo.plugins.web.pages.ask", lambda *_: [])
    refreshed = pages.refresh("google-docs:/1AbCdEf_gh-IJ").items[0]
    assert (refreshed.status, "google-docs" in error_of(refreshed)["message"]) == ("failed", True)


def test_a_short_google_id_is_an_id_and_a_published_copy_is_none() -> None:
    drives = OpenWeb(FetchSettings())
    assert str(drives.place("https://docs.google.com/document/d/1aB/edit").ref) == "google-docs:/1aB"
    published = "https://docs.google.com/document/d/e/2PACX-abc/pub"
    assert drives.place(published).ref.drive == "url"
