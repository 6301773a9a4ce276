"""Refreshing pages: unchanged ones cost headers alone, changed ones become versions, lost ones stay."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from tests.conftest import import_trusted

from ricordo import Ricordo

from ...conftest import error_of
from .conftest import Answer, Asked, Site, article, with_etag


def dated(body: str, date: str) -> Callable[[Asked], Answer]:
    def answer(asked: Asked) -> Answer:
        if asked.headers.get("if-modified-since") == date:
            return Answer(status=304)
        return Answer(body.encode(), headers={"Last-Modified": date})

    return answer


def test_refreshing_two_hundred_unchanged_pages_downloads_headers_alone_and_writes_nothing(
    pages: Ricordo, site: Site
) -> None:
    for number in range(200):
        body = article(f"Page {number}")
        tag = with_etag(body, f"v{number}")
        site.routes[f"/{number}"] = tag if number % 2 else dated(body, "Sun, 01 Nov 2026 10:00:00 GMT")
    added = pages.add(*(f"{site.root}/{number}" for number in range(200)))
    assert added.count("created") == 200
    site.sent, asked_before = 0, len(site.asked)
    watching = sqlite3.connect(pages.location)
    version = watching.execute("PRAGMA data_version").fetchone()
    report = pages.refresh(all=True)
    assert report.to_dict() | {"items": None} == {
        "checked": 200, "updated": 0, "unchanged": 200, "created": 0, "moved": 0, "missing": 0, "removed": 0,
        "skipped": 0, "reembedded": 0, "chunks": 0, "failed": 0, "items": None, "notes": [],
    }  # fmt: skip
    assert len(site.asked) - asked_before == 200
    assert site.sent == 0
    assert watching.execute("PRAGMA data_version").fetchone() == version
    watching.close()


def test_a_changed_page_is_a_new_version_and_only_changed_passages_are_written(pages: Ricordo, site: Site) -> None:
    long = "".join(f"<h2>Part {n}</h2><p>{'Some words about ships. ' * 40}{n}</p>" for n in range(20))
    site.routes["/a"] = with_etag(article("A", text=long), "1")
    url = f"{site.root}/a"
    pages.add(url)
    site.routes["/a"] = with_etag(article("A", text=long.replace("Part 7", "Chapter 7")), "2")
    report = pages.refresh(url)
    assert [one.status for one in report.items] == ["updated"]
    assert 1 <= report.to_dict()["chunks"] <= 6, "of some forty"
    assert "Chapter 7" in pages.get(url).content
    assert pages.get(url).version == 2
    assert pages.refresh(url).count("unchanged") == 1
    assert site.asked[-1].headers["if-none-match"] == '"2"'


def test_without_validators_the_bytes_are_compared(pages: Ricordo, site: Site) -> None:
    url = site.page("/a", article("A"))
    pages.add(url)
    assert pages.refresh(url).count("unchanged") == 1
    assert "if-none-match" not in site.asked[-1].headers
    site.page("/a", article("A", head="<!-- made at 10:31 -->"))
    assert pages.refresh(url).count("unchanged") == 1, "the text is the same"
    site.page("/a", article("A, changed"))
    assert pages.refresh(url).count("updated") == 1
    assert pages.get(url).version == 2


def test_a_new_tag_for_the_same_page_is_remembered_without_a_version(pages: Ricordo, site: Site) -> None:
    url = f"{site.root}/a"
    for tag in ("1", "2"):
        site.routes["/a"] = with_etag(article("A"), tag)
        assert pages.add(url).count("created") or pages.refresh(url).count("unchanged")
    pages.refresh(url)
    assert site.asked[-1].headers["if-none-match"] == '"2"'
    assert pages.get(url).version == 1


def test_what_people_set_stays_and_what_the_page_says_follows_the_page(pages: Ricordo, site: Site) -> None:
    url = site.page("/a", article("Old title", head='<meta name="description" content="Old.">'))
    pages.add(url, fields={"tags": ["sea"]})
    pages.edit(url, fields={"importance": 5})
    site.page("/a", article("New title", head='<meta name="description" content="New.">'))
    pages.refresh(url)
    item = pages.get(url)
    assert (item.title, item.fields.description) == ("New title", "New.")
    assert (item.fields.tags, item.fields.importance) == (("sea",), 5)
    pages.edit(url, fields={"title": "My title"})
    site.page("/a", article("Newest title"))
    pages.refresh(url)
    assert pages.get(url).title == "My title"


def test_a_page_that_is_gone_is_reported_and_never_dropped(pages: Ricordo, site: Site) -> None:
    gone, away = site.page("/gone", article("Gone")), site.page("/away", article("Away"))
    pages.add(gone, away)
    del site.routes["/gone"]
    site.routes["/away"] = Answer(b"", 410)
    report = pages.refresh(gone, away, prune=True)
    assert [one.status for one in report.items] == ["missing", "missing"]
    assert report.failed == 0
    assert pages.get(gone).title == "Gone"


def test_a_page_that_fails_now_keeps_what_it_said_and_says_why(pages: Ricordo, site: Site) -> None:
    broken, fine = site.page("/broken", article("Broken")), site.page("/fine", article("Fine"))
    pages.add(broken, fine)
    site.routes["/broken"] = Answer(b"", 500)
    report = pages.refresh(all=True)
    shown = {one.ref: one for one in report.items}
    assert (shown[f"url:/{broken}"].status, shown[f"url:/{fine}"].status) == ("failed", "unchanged")
    assert "500" in error_of(shown[f"url:/{broken}"])["message"]
    assert pages.get(broken).title == "Broken"


def test_a_subtree_of_pages_is_refreshed_by_its_address(pages: Ricordo, site: Site) -> None:
    urls = [site.page(path, article(path)) for path in ("/docs/", "/docs/a", "/docs/b/c", "/other")]
    pages.add(*urls)
    assert len(pages.refresh(f"{site.root}/docs/").items) == 3
    assert len(pages.refresh(f"url:/{site.root}/docs").items) == 3


def test_a_page_under_another_name_is_fetched_from_its_source(pages: Ricordo, site: Site) -> None:
    url = site.page("/a", article("A"))
    pages.add(url, as_ref="note:/mine")
    pages.save("note:/written", "Something that no page says.")
    site.page("/a", article("B"))
    statuses = {one.ref: one.status for one in pages.refresh(all=True).items}
    assert statuses == {"note:/mine": "updated", "note:/written": "skipped"}
    assert pages.get("note:/mine").title == "B"


def test_an_item_without_a_source_url_says_to_add_it_again(pages: Ricordo, site: Site) -> None:
    pages.save("github:/owner/repo", "A README that came by hand.")
    pages.save(f"url:/{site.page('/a', article('A'))}", "Old text of the page.")
    shown = {one.ref.partition(":")[0]: one for one in pages.refresh(all=True).items}
    assert shown["github"].status == "failed"
    assert "by its URL" in error_of(shown["github"])["hint"]
    assert shown["url"].status == "updated", "the ref of a page is its URL"


def test_what_a_server_said_goes_along_with_an_export(
    pages: Ricordo, open_engine: Callable[..., Ricordo], site: Site, tmp_path: Path
) -> None:
    site.routes["/a"] = with_etag(article("A"), "1")
    pages.add(f"{site.root}/a")
    pages.export(tmp_path / "all.jsonl")
    other = open_engine("other", **{"fetch.allow_private": True})
    import_trusted(other, tmp_path / "all.jsonl")
    assert other.refresh(all=True).count("unchanged") == 1
    assert site.asked[-1].headers["if-none-match"] == '"1"'


def test_an_etag_of_any_letters_is_sent_back_as_it_came(pages: Ricordo, site: Site) -> None:
    site.routes["/a"] = with_etag(article("A"), "été")
    pages.add(f"{site.root}/a")
    assert pages.refresh(all=True).count("unchanged") == 1
    assert site.asked[-1].headers["if-none-match"] == '"été"'


def secret_page(number: int) -> str:
    key = f"AKIAIOSFODNN7EXAMPL{number}"
    return article(f"Deploy {key}", text=f"Key {number} is {key} today. " * 5)


def test_secrets_in_a_page_kept_as_a_note_are_redacted_when_it_is_read_again(pages: Ricordo, site: Site) -> None:
    url = site.page("/a", secret_page(1))
    assert pages.add(url, as_ref="note:/a").items[0].redacted
    site.page("/a", secret_page(2))
    report = pages.refresh("note:/a")
    assert report.count("updated") == 1
    assert "redacted: aws key" in report.notes[0]
    note = pages.get("note:/a")
    assert "AKIA" not in note.content + note.fields.title
    assert note.content.count("[redacted: aws key]") > 9
    with sqlite3.connect(pages.location) as store:
        assert not [line for line in store.iterdump() if "AKIA" in line]
    store.close()


def test_secrets_that_were_allowed_in_a_note_still_are_when_it_is_read_again(pages: Ricordo, site: Site) -> None:
    url = site.page("/a", secret_page(1))
    pages.add(url, as_ref="note:/a", allow_secrets=True)
    site.page("/a", secret_page(2))
    pages.refresh("note:/a")
    assert "AKIAIOSFODNN7EXAMPL2" in pages.get("note:/a").content
