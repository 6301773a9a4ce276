"""Nothing that a program says over HTTP is kept with its secrets, under whatever name, and in no log."""

from __future__ import annotations

from pathlib import Path

import pytest

from ricordo.speaking import as_agent
from ricordo.values.items import Entry

from .http_sites import Site, make_site

KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
HIDDEN = "[redacted: github token]"
DRIVES = ("article", "agent", "wiki", "url", "github", "memory")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return make_site(tmp_path)


def kept(site: Site, tmp_path: Path) -> bytes:
    """All that the store holds, with what still waits to be written."""
    for tracker in site.engine._context.trackers.values():
        tracker.flush()
    site.engine.export(tmp_path / "all.jsonl", log=True)
    return (tmp_path / "all.jsonl").read_bytes()


@pytest.mark.parametrize("drive", DRIVES)
def test_what_a_program_saves_or_edits_is_kept_without_its_secrets(site: Site, tmp_path: Path, drive: str) -> None:
    writer = site.as_scope("write")
    ref = "https://example.com/keys" if drive == "url" else f"{drive}:/keys"
    fields = {"title": f"The key {KEY}", "tags": [KEY], "metadata": {KEY: {KEY: KEY}}}
    answer = writer.post("/api/v1/save", json={"ref": ref, "content": f"Use {KEY}.", "fields": fields})
    assert answer.status_code == 200, answer.text
    item = site.engine.get(ref)
    assert (item.content, item.fields.title) == (f"Use {HIDDEN}.", f"The key {HIDDEN}")
    assert item.fields.metadata == {HIDDEN: {HIDDEN: HIDDEN}}
    answer = writer.post("/api/v1/edit", json={"ref": ref, "content": f"Now {KEY}.", "fields": {"description": KEY}})
    assert answer.status_code == 200, answer.text
    assert site.engine.get(ref).content == f"Now {HIDDEN}."
    assert KEY.encode() not in kept(site, tmp_path)


def test_what_a_program_saves_in_bulk_under_an_address_is_kept_without_its_secrets(site: Site) -> None:
    with as_agent("some-agent"):
        site.engine.save_many([Entry("https://example.com/keys", f"Use {KEY}.")])
    assert site.engine.get("https://example.com/keys").content == f"Use {HIDDEN}."


def test_a_file_that_a_program_uploads_is_kept_without_its_secrets(site: Site, tmp_path: Path) -> None:
    files = [("files", ("notes.md", f"# {KEY}\n\nUse {KEY}.".encode()))]
    answer = site.as_scope("write").post("/api/v1/upload?wait=20", files=files)
    assert answer.json()["result"]["items"][0]["status"] == "created", answer.text
    assert HIDDEN in site.engine.get("agent:/uploads/notes.md").content
    assert KEY.encode() not in kept(site, tmp_path)


def test_no_name_and_no_log_holds_the_secrets_of_a_program(site: Site, tmp_path: Path) -> None:
    writer = site.as_scope("write")
    saved = writer.post("/api/v1/save", json={"ref": f"note:/{KEY}", "content": "A key."})
    assert saved.status_code == 400
    assert KEY not in saved.text
    ref = writer.post("/api/v1/remember", json={"text": "Keys rotate."}).json()["ref"]
    assert writer.post("/api/v1/mv", json={"ref": ref, "new_ref": f"note:/{KEY}"}).status_code == 400
    assert writer.get("/api/v1/search", params={"q": f"keys {KEY}"}).status_code == 200
    feedback = {"query": f"keys {KEY}", "ref": ref, "verdict": "accepted"}
    assert writer.post("/api/v1/feedback", json=feedback).status_code == 200
    log = kept(site, tmp_path)
    assert [query.text for query in site.engine.log("asked").questions] == [f"keys {HIDDEN}"]
    assert KEY.encode() not in log


def test_what_a_person_saves_as_a_document_is_kept_as_it_is(site: Site) -> None:
    site.engine.save("wiki:/keys", f"Use {KEY}.")
    assert site.engine.get("wiki:/keys").content == f"Use {KEY}."
    with as_agent("some-agent"):
        site.engine.edit("wiki:/keys", fields={"tags": ["keys"]})
    assert site.engine.get("wiki:/keys").content == f"Use {KEY}."
