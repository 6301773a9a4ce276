"""Following links and sitemaps: politely, each page once, never past the site or the limit."""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable

import pytest

from ricordo import Ricordo
from ricordo.plugins.web.crawl import matches, read_robots

from ...conftest import error_of
from .conftest import Answer, Site, article, redirect, with_etag


def refs(report: object, status: str) -> list[str]:
    return [saved.ref.rpartition("/")[2] for saved in report.items if saved.status == status]  # type: ignore[attr-defined]


def reasons(report: object) -> dict[str, str]:
    return {saved.ref.rpartition("/")[2]: saved.reason for saved in report.items if saved.reason}  # type: ignore[attr-defined]


def chain(site: Site) -> str:
    """Pages that lead from one to the next, and back to the first."""
    names = ["", "a", "b", "c", "d"]
    for name, after in zip(names, [*names[1:], ""], strict=True):
        site.page(f"/{name}", article(f"Page {name}", f"/{after}", "/", "#top", f"/{name}"))
    return f"{site.root}/"


@pytest.mark.parametrize(
    ("depth", "found"), [(0, [""]), (1, ["", "a"]), (2, ["", "a", "b"]), (9, ["", "a", "b", "c", "d"])]
)
def test_links_are_followed_so_many_steps_and_each_page_once(
    pages: Ricordo, site: Site, depth: int, found: list[str]
) -> None:
    report = pages.add(chain(site), depth=depth)
    assert refs(report, "created") == found
    assert sorted(path for path in site.paths() if path != "/robots.txt") == sorted(f"/{name}" for name in found)


def test_a_walk_stays_on_its_site_and_away_from_what_is_not_read(pages: Ricordo, site: Site, other_site: Site) -> None:
    other_site.page("/", article("Elsewhere"))
    links = ["/a", f"{other_site.root}/", "mailto:x@example.org", "javascript:go()", "/p.png", "/x.zip", "/picture",
             "/away", "/dead", "//example.invalid/", "http://[bad/"]  # fmt: skip
    body = article("Start", *links).replace("</div>", '<a rel="nofollow" href="/unloved">x</a></div>')
    start = site.page("/", body)
    site.page("/a", article("A"))
    site.page("/picture", b"\x89PNG\r\n\x1a\n" + bytes(1000), mime="image/png")
    site.routes["/away"] = redirect(f"{other_site.root}/")
    report = pages.add(start, depth=2)
    assert refs(report, "created") == ["", "a"]
    assert report.failed == 0
    why = reasons(report)
    assert "image/png" in why["picture"]
    assert "another site" in why["away"]
    assert "404" in why["dead"]
    assert set(site.paths()) == {"/", "/robots.txt", "/a", "/picture", "/away", "/dead"}


def test_robots_txt_is_kept_to(pages: Ricordo, site: Site) -> None:
    site.page("/robots.txt", "User-agent: *\nDisallow: /private\nDisallow: /*?print\nAllow: /private/open\n")
    start = site.page("/", article("Start", "/private/a", "/private/open", "/b?print=1", "/b"))
    for path in ("/private/a", "/private/open", "/b", "/b?print=1"):
        site.page(path, article(path))
    report = pages.add(start, depth=1)
    assert refs(report, "created") == ["", "open", "b"]
    assert "leave out 2 of" in report.notes[-1]
    named = pages.add(f"{site.root}/private/a")
    assert named.count("created") == 1, "a page that a person named is fetched"


def test_a_site_that_fails_to_say_what_it_allows_is_not_walked(pages: Ricordo, site: Site) -> None:
    site.routes["/robots.txt"] = Answer(b"", 500)
    report = pages.add(chain(site), depth=3)
    assert refs(report, "created") == [""]


def test_pages_wait_for_one_another(open_engine: Callable[..., Ricordo], site: Site) -> None:
    engine = open_engine(**{"fetch.allow_private": True})
    site.page("/robots.txt", "User-agent: *\nCrawl-delay: 0.2\n")
    before = time.monotonic()
    assert engine.add(chain(site), depth=3).count("created") == 4
    assert time.monotonic() - before > 0.4


def test_never_more_pages_than_asked_for(pages: Ricordo, site: Site) -> None:
    start = site.page("/", article("Start", *(f"/{n}" for n in range(30))))
    for number in range(30):
        site.page(f"/{number}", article(str(number), f"/{number}/deeper"))
    report = pages.add(start, depth=5, max_pages=7)
    assert report.count("created") == 8, "the page that was named, and seven"
    assert "--max-pages" in report.notes[-1]
    assert pages.add(start, depth=1, max_pages=7).count("created") == 7, "the next time goes on from there"


def test_pages_are_known_by_the_address_they_give(pages: Ricordo, site: Site) -> None:
    site.page("/", article("Start", "/a?from=1", "/a?from=2", "/r", "/front"))
    for query in ("?from=1", "?from=2", ""):
        site.page(f"/a{query}", article("A", head='<link rel="canonical" href="/a">'))
    site.routes["/r"] = redirect("/a")
    site.page("/front", article("Front", head='<link rel="canonical" href="/">'))
    report = pages.add(f"{site.root}/", depth=1)
    assert refs(report, "created") == ["", "a", "front"]
    assert "same page" in reasons(report)["a?from=2"]
    assert "same page" in reasons(report)["r"]


def test_wishes_of_a_page_are_kept_to_on_a_walk(pages: Ricordo, site: Site) -> None:
    site.page("/", article("Start", "/hidden", "/dead-end"))
    site.page("/hidden", article("Hidden", "/x", head='<meta name="robots" content="noindex">'))
    site.page("/dead-end", article("Dead end", "/y", head='<meta name="robots" content="NOFOLLOW">'))
    site.page("/x", article("X"))
    site.page("/y", article("Y"))
    report = pages.add(f"{site.root}/", depth=3)
    assert refs(report, "created") == ["", "dead-end", "x"]
    assert "noindex" in reasons(report)["hidden"]


def test_walking_again_finds_new_pages_behind_known_ones(pages: Ricordo, site: Site) -> None:
    start = chain(site)
    pages.add(start, depth=2)
    site.page("/a", article("Page a", "/b", "/new"))
    site.page("/new", article("New"))
    report = pages.add(start, depth=2)
    assert refs(report, "created") == ["new"]
    assert refs(report, "skipped") == ["", "a", "b"]


def test_an_interrupted_walk_keeps_what_it_has(pages: Ricordo, site: Site) -> None:
    start = chain(site)

    def interrupt(progress: object) -> None:
        if "/b" in progress.label:  # type: ignore[attr-defined]
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pages.add(start, depth=9, progress=interrupt)
    assert [pages.get(f"{site.root}/{name}").version for name in ("", "a", "b")] == [1, 1, 1]
    assert refs(pages.add(start, depth=9), "created") == ["c", "d"]


def urlset(*urls: str) -> str:
    entries = "".join(f"<url><loc>{url}</loc><lastmod>2026-11-01</lastmod></url>" for url in urls)
    return f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'


def index(*urls: str) -> str:
    entries = "".join(f"<sitemap><loc><![CDATA[{url}]]></loc></sitemap>" for url in urls)
    return f"<sitemapindex>{entries}</sitemapindex>"


def test_a_sitemap_is_added_as_the_pages_it_names(pages: Ricordo, site: Site) -> None:
    for path in ("/a", "/b?x=1&y=2"):
        site.page(path, article(path))
    body = urlset(f"{site.root}/a", f"{site.root}/b?x=1&amp;y=2", f"{site.root}/a", "https://example.invalid/c")
    report = pages.add(site.page("/sitemap.xml", body, mime="application/xml"))
    assert refs(report, "created") == ["a", "b?x=1&y=2"]
    assert report.failed == 0


def test_sitemaps_that_name_others_and_packed_ones_are_read(pages: Ricordo, site: Site) -> None:
    site.page("/a", article("A"))
    site.page("/b", article("B"))
    site.page("/robots.txt", f"Sitemap: {site.root}/maps/index.xml\nUser-agent: *\nDisallow: /b\n")
    site.page("/maps/index.xml", index(f"{site.root}/maps/1.xml.gz", f"{site.root}/maps/index.xml", f"{site.root}/no"))
    packed = gzip.compress(urlset(f"{site.root}/a", f"{site.root}/b").encode())
    site.page("/maps/1.xml.gz", packed, mime="application/gzip")
    report = pages.add(f"{site.root}/", sitemap=True)
    assert refs(report, "created") == ["a"]
    assert any("sitemap is left out" in note for note in report.notes)
    assert any("robots.txt" in note for note in report.notes)


def test_a_site_without_a_sitemap_says_what_else_to_do(pages: Ricordo, site: Site) -> None:
    error = error_of(pages.add(f"{site.root}/docs/", sitemap=True).items[0])
    assert (error["code"], "depth" in error["hint"]) == ("not_found", True)


def test_a_broken_page_of_a_walk_fails_alone(pages: Ricordo, site: Site) -> None:
    start = site.page("/", article("Start", "/bad", "/good"))
    site.routes["/bad"] = Answer(b"", 500)
    site.routes["/good"] = with_etag(article("Good"), "1")
    report = pages.add(start, depth=1)
    assert refs(report, "created") == ["", "good"]
    assert refs(report, "failed") == ["bad"]


@pytest.mark.parametrize(
    ("rule", "path", "fitting"),
    [
        ("/a", "/a/b", True), ("/a", "/b", False), ("/*.pdf$", "/x/y.pdf", True), ("/*.pdf$", "/y.pdf?a", False),
        ("/*/b/*/c", "/1/b/2/c/3", True), ("/*/b/*/c", "/b/c", False), ("/a$", "/a", True), ("/a$", "/ab", False),
        ("*", "/x", True), ("/x*y*$", "/xay", True), ("/" + "*a" * 60 + "$", "/" + "a" * 5000 + "b", False),
    ],
)  # fmt: skip
def test_rules_of_robots_txt_match_as_they_are_written(rule: str, path: str, fitting: bool) -> None:
    assert matches(rule, path) is fitting


def test_the_rules_for_us_come_before_those_for_all() -> None:
    all_and_us = "\ufeffUser-agent: *\nDisallow: /\n\nUser-agent: other\nUser-agent: Ricordo\n"
    robots = read_robots(all_and_us + "Disallow: /x # no\nCrawl-delay: 2\n")
    assert (robots.allows("https://e.org/a"), robots.allows("https://e.org/x"), robots.delay) == (True, False, 2.0)
    assert not read_robots("user-agent: *\ndisallow: /").allows("https://e.org/")
    assert read_robots("User-agent: *\nDisallow:\n").allows("https://e.org/a")


@pytest.mark.parametrize(
    ("robots_txt", "allowed"),
    [
        ("User-agent: ric\nDisallow: /\n", True),  # a part of our name is the name of another program
        ("User-agent: ricordo-extra\nDisallow: /\n", True),
        ("User-agent: Ricordo/2.0\nDisallow: /\n", False),
        ("User-agent: r\nDisallow: /\nUser-agent: ricordo\nAllow: /\nUser-agent: *\nDisallow: /\n", True),
        ("User-agent: ricordo\nDisallow: /b\nUser-agent: x\nAllow: /\nUser-agent: RICORDO\nDisallow: /a\n", False),
        ("User-agent: ricordo\nCrawl-delay: 1\nUser-agent: x\nDisallow: /\n", False),
        ("User-agent: *\nDisallow: /\nUser-agent: ricordo\n", True),  # a group without rules allows everything
        ("Disallow: /\nUser-agent: *\nAllow: /\n", True),  # a rule that belongs to no group
    ],
)
def test_the_group_for_us_is_the_one_with_our_whole_name_and_all_such_groups_count(
    robots_txt: str, allowed: bool
) -> None:
    assert read_robots(robots_txt).allows("https://e.org/a") is allowed


def test_a_letter_and_its_percent_code_are_the_same_to_a_rule() -> None:
    robots = read_robots("User-agent: *\nDisallow: /grün\nDisallow: /%7euser\n")
    assert not robots.allows("https://e.org/gr%c3%bcn")
    assert not robots.allows("https://e.org/%7Euser")


def test_links_go_from_where_a_page_was_found(pages: Ricordo, site: Site) -> None:
    site.page("/", article("Home", "/docs"))
    site.routes["/docs"] = redirect("/docs/", 301)
    site.page("/docs/", article("Docs", "one.html"))
    site.page("/docs/one.html", article("One"))
    assert "one.html" in refs(pages.add(f"{site.root}/", depth=2), "created")


def test_a_sitemap_of_blanks_is_read(pages: Ricordo, site: Site) -> None:
    """A pattern that tries every blank as the beginning would take hours."""
    body = f"<urlset><url><loc>{' ' * 200_000}<x></loc></url><url><loc> <![CDATA[ /a ]]> </loc></url></urlset>"
    site.page("/a", article("A"))
    assert refs(pages.add(site.page("/sitemap.xml", body, mime="application/xml")), "created") == ["a"]
