"""The verbs of the API: what is asked and answered, in one shape, over HTTP."""

from __future__ import annotations

import asyncio
import json
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ricordo import Ricordo, Unavailable, __version__
from ricordo.http_api import state

from .http_sites import Site, make_site


def test_what_is_saved_is_found_read_changed_and_put_away(site: Site) -> None:
    saved = site.post("/api/v1/save", {"ref": "note:/keys", "content": "Rotate the keys.", "fields": {"tags": ["a"]}})
    assert saved["status"] == "created"
    found = site.get("/api/v1/search", params={"q": "rotate", "explain": True})
    assert found["hits"][0]["ref"] == "note:/keys"
    assert found["hits"][0]["explain"]["signals"]
    item = site.get("/api/v1/get", params={"ref": "note:/keys"})
    assert (item["content"], item["tags"]) == ("Rotate the keys.", ["a"])
    changed = {"ref": "note:/keys", "content": "Rotate all keys.", "base": 1}
    assert site.post("/api/v1/edit", changed)["version"] == 2
    assert site.post("/api/v1/edit", {**changed, "content": "Other."}, status=409)["error"]["code"] == "stale_version"
    assert "+Rotate all keys." in site.get("/api/v1/diff", params={"ref": "note:/keys"})["diff"]
    assert [one["version"] for one in site.get("/api/v1/history", params={"ref": "note:/keys"})["versions"]] == [2, 1]
    assert site.post("/api/v1/rm", {"refs": ["note:/keys"]})["items"][0]["ref"] == "note:/keys"
    gone = site.get("/api/v1/get", status=404, params={"ref": "note:/keys"})
    assert gone["error"]["code"] == "not_found"
    assert gone["error"]["hint"]
    assert site.post("/api/v1/restore", {"ref": "note:/keys"})["ref"] == "note:/keys"


def test_lists_come_in_pages_that_add_up(site: Site) -> None:
    for n in range(7):
        site.engine.save(f"note:/n{n}", f"Text number {n}.")
    first = site.get("/api/v1/list", params={"limit": 4})
    second = site.get("/api/v1/list", params={"limit": 4, "offset": 4})
    refs = [item["ref"] for page in (first, second) for item in page["items"]]
    assert (first["total"], len(refs), len(set(refs))) == (7, 7, 7)
    assert "content" not in first["items"][0]


def test_a_near_duplicate_waits_for_a_decision(site: Site) -> None:
    text = "The signing keys are rotated in the first week of every quarter by the platform team."
    site.post("/api/v1/remember", {"text": text, "tags": ["security"]})
    again = site.post(
        "/api/v1/remember", {"text": "The platform team rotates the signing keys in the first week of every quarter."}
    )
    assert again["status"] == "needs_decision"
    assert again["candidates"]


FAILURES = (
    ("/api/v1/get?ref=note:/nowhere", 404, "not_found"),
    ("/api/v1/get?ref=note:/%00", 400, "usage"),
    ("/api/v1/search?q=x&limit=0", 422, "usage"),
    ("/api/v1/search?q=x&limt=3", 422, "usage"),
    ("/api/v1/search?q=x&profile=nope", 400, "usage"),
    ("/api/v1/search?q=x&after=someday", 400, "usage"),
    ("/api/v1/search?q=x&weights=vector", 400, "usage"),
    ("/api/v1/grep?pattern=(", 400, "usage"),
    ("/api/v1/nothing", 404, "not_found"),
    ("/api/v1/tasks/none", 404, "not_found"),
)


def test_every_failure_has_the_same_shape(site: Site) -> None:
    for path, status, code in FAILURES:
        error = site.get(path, status=status)["error"]
        assert error["code"] == code, path
        assert error["message"]
        assert set(error) >= {"code", "message", "hint"}


def test_long_work_is_a_task_that_tells_its_progress_as_events(site: Site, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for n in range(3):
        (folder / f"{n}.md").write_text(f"# Note {n}\n\nAbout subject {n}.\n", encoding="utf-8")
    task = site.post("/api/v1/add", {"sources": [str(folder)]}, status=202)
    assert task["verb"] == "add"
    with site.client.stream("GET", f"/api/v1/tasks/{task['id']}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        text = "".join(stream.iter_text())
    names = [line.removeprefix("event: ") for line in text.splitlines() if line.startswith("event: ")]
    last = json.loads(text.strip().rpartition("data: ")[2])
    assert names[-1] == "done"
    assert last["result"]["created"] == 3
    assert site.get(f"/api/v1/tasks/{task['id']}")["state"] == "done"


def test_a_task_that_fails_says_why(site: Site) -> None:
    task = site.post("/api/v1/backup?wait=20", {"file": "/nowhere/at/all/backup.db"})
    assert task["state"] == "failed"
    assert task["error"]["message"]


def test_waiting_for_a_task_answers_its_result(site: Site) -> None:
    task = site.post("/api/v1/doctor?wait=20")
    assert task["state"] == "done"
    assert task["result"]["ok"] is True


def test_uploaded_files_of_one_name_are_kept_apart_and_no_folder_is_named_that_is_gone(site: Site) -> None:
    files = [
        ("files", ("a/plan.md", b"One plan.\n")),
        ("files", ("b/plan.md", b"---\nloading: always\n---\nAnother.\n")),
    ]
    result = site.client.post("/api/v1/upload?wait=20", files=files).json()["result"]
    assert [one["ref"] for one in result["items"]] == ["agent:/uploads/plan.md", "agent:/uploads/plan-2.md"]
    assert not any("ricordo-upload-" in note for note in result["notes"])
    assert any("review" in note for note in result["notes"])


def test_files_that_are_sent_are_read_by_their_kind(site: Site) -> None:
    files = [("files", ("plan.md", b"---\ntitle: The plan\n---\nBuild a bridge.\n", "text/markdown"))]
    answer = site.client.post("/api/v1/upload?wait=20", files=files)
    assert answer.json()["result"]["items"][0]["ref"] == "agent:/uploads/plan.md"
    item = site.get("/api/v1/get", params={"ref": "agent:/uploads/plan.md"})
    assert (item["title"], item["content"].strip()) == ("The plan", "Build a bridge.")


def test_files_that_were_sent_are_not_left_lying_about(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    between = tmp_path / "between"
    between.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(between))
    files = [("files", (name, b"Some text.", "text/plain")) for name in ("a.md", "b.md")]
    assert site.client.post("/api/v1/upload?wait=20", files=files).json()["result"]["created"] == 2
    assert list(between.glob("ricordo-upload-*")) == []
    monkeypatch.setattr(Ricordo, "add", fails)
    assert site.client.post("/api/v1/upload?wait=20", files=files).json()["state"] == "failed"
    assert list(between.glob("ricordo-upload-*")) == []


def test_files_of_an_upload_that_is_refused_or_never_begun_are_not_left_lying_about(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    between = tmp_path / "between"
    between.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(between))
    files = [("files", ("a.md", b"Some text.", "text/plain"))]
    with monkeypatch.context() as full:
        full.setattr(state, "MOST_TASKS_WAITING", 0)
        assert site.client.post("/api/v1/upload", files=files).status_code == 503
        assert site.client.post("/api/v1/import", files={"file": ("a.jsonl", b"{}")}).status_code == 503
    assert list(between.iterdir()) == []
    with monkeypatch.context() as lost:
        lost.setattr(type(site.serving.service), "engine", fails)
        assert site.client.post("/api/v1/upload?wait=20", files=files).json()["state"] == "failed"
    site.serving.tasks.close()
    assert site.client.post("/api/v1/upload", files=files).status_code == 503
    deadline = time.monotonic() + 20
    while list(between.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert list(between.iterdir()) == []


def fails(*_: Any, **__: Any) -> None:
    raise Unavailable("the disk is gone")


def test_a_long_name_of_a_sent_file_is_shortened_to_what_a_disk_takes(site: Site) -> None:
    files = [("files", ("é" * 300 + ".md", b"# The plan", "text/plain"))]
    result = site.client.post("/api/v1/upload?wait=20", files=files).json()["result"]
    assert [(item["status"], item["ref"]) for item in result["items"]] == [("created", f"agent:/uploads/{'é' * 75}.md")]


def test_tasks_that_are_over_are_forgotten_from_the_oldest_on_and_those_at_work_are_not(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "MOST_TASKS", 3)
    released = threading.Event()
    at_work = site.serving.start("slow", lambda engine, tell: released.wait(60))
    over = [site.post("/api/v1/sync?wait=20")["id"] for _ in range(4)]
    try:
        assert [one["id"] for one in site.get("/api/v1/tasks")["tasks"]] == [over[3], over[2], at_work.id]
        assert site.get(f"/api/v1/tasks/{over[0]}", status=404)["error"]["code"] == "not_found"
    finally:
        released.set()


def test_what_is_exported_can_be_imported_elsewhere(site: Site, new_site: Callable[..., Site], tmp_path: Path) -> None:
    site.engine.save("note:/a", "Something to keep.")
    lines = site.client.get("/api/v1/export").content
    site.engine.rm("note:/a", purge=True)
    done = site.client.post("/api/v1/import?wait=20", files={"file": ("x.jsonl", lines)}).json()
    assert done["result"]["created"] == 1
    assert site.engine.get("note:/a").content == "Something to keep."


def test_settings_are_read_and_changed(site: Site) -> None:
    assert site.post("/api/v1/config", {"name": "search.limit", "value": "7"})["value"] == 7
    assert site.post("/api/v1/config", {"name": "search.limt", "value": "7"}, status=400)["error"]["hint"]
    names = {row["name"] for row in site.get("/api/v1/config")["settings"]}
    assert {"search.limit", "serve.port"} <= names


def test_health_is_told_to_strangers(site: Site) -> None:
    assert site.stranger().get("/healthz").json() == {"status": "ok", "version": __version__}


def test_links_and_feedback_go_both_ways(site: Site) -> None:
    for name in ("a", "b"):
        site.engine.save(f"note:/{name}", f"About {name}.")
    site.post("/api/v1/link", {"source": "note:/a", "target": "note:/b", "type": "supports"})
    around = site.get("/api/v1/links", params={"ref": "note:/b"})["links"]
    assert [(one["source"], one["type"]) for one in around] == [("note:/a", "supports")]
    assert site.post("/api/v1/unlink", {"source": "note:/a", "target": "note:/b"}) == {"count": 1}
    verdict = {"query": "about", "ref": "note:/a", "verdict": "accepted"}
    assert site.post("/api/v1/feedback", verdict)["verdict"] == "accepted"


def test_steps_are_listed_by_get_and_undone_by_post(site: Site) -> None:
    site.post("/api/v1/save", {"ref": "note:/keys", "content": "Rotate the keys."})
    [step] = site.get("/api/v1/undo")["steps"]
    assert (step["words"], step["changes"], step["is_undone"]) == ("saved note:/keys", 1, False)
    undone = site.post("/api/v1/undo", {"step": step["id"]})
    assert [one["status"] for one in undone["items"]] == ["removed"]
    assert site.get("/api/v1/list")["total"] == 0


def test_the_last_step_is_that_of_the_same_token(site: Site) -> None:
    """Two agents with tokens of their own do not take back each other's changes."""
    writer, admin = site.as_scope("write"), site.as_scope("admin")
    assert writer.post("/api/v1/remember", json={"text": "The kettle is red."}).status_code == 200
    assert admin.post("/api/v1/remember", json={"text": "Trains leave at noon."}).status_code == 200
    undone = writer.post("/api/v1/undo", json={}).json()
    assert [one["ref"] for one in undone["items"]] == ["memory:/the-kettle-is-red"]
    assert writer.post("/api/v1/undo", json={}).status_code == 404


def test_what_only_looks_is_get_even_if_it_is_for_administrators(site: Site) -> None:
    site.post("/api/v1/save", {"ref": "note:/keys", "content": "Rotate the keys."})
    assert [one["ref"] for one in site.get("/api/v1/log", params={"what": "changed"})["entries"]] == ["note:/keys"]
    assert site.get("/api/v1/review")["waiting"] == []
    reader = site.as_scope("read")
    assert reader.get("/api/v1/log?what=changed").status_code == 403
    assert reader.get("/api/v1/review").status_code == 403
    assert reader.get("/api/v1/undo").status_code == 200
    assert reader.post("/api/v1/undo", json={}).status_code == 403
    assert site.as_scope("write").post("/api/v1/log", json={"clear": True}).status_code == 403


def test_many_clients_at_once_are_all_answered(site: Site) -> None:
    for n in range(20):
        site.engine.save(f"note:/n{n}", f"Text number {n} about keys.")
    answers: list[int] = []

    def ask() -> None:
        client = site.stranger(dict(site.client.headers))
        answers.extend(client.get("/api/v1/search?q=keys").status_code for _ in range(5))

    threads = [threading.Thread(target=ask) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [200] * 60


def test_examples_stand_in_the_description(site: Site) -> None:
    document: dict[str, Any] = site.get("/api/v1/openapi.json")
    assert "how are tokens validated?" in json.dumps(document["paths"]["/api/v1/search"])
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    ids = [one["operationId"] for methods in document["paths"].values() for one in methods.values()]
    assert len(ids) == len(set(ids))


def test_a_parameter_that_a_route_does_not_have_is_refused_not_ignored(site: Site) -> None:
    for path in ("/api/v1/context?task=keys&profile=rrf", "/api/v1/similar?ref=note:/a&profile=rrf"):
        assert "profile" in site.get(path, 422)["error"]["message"]


def test_a_store_stays_open_until_work_that_runs_at_the_end_is_done(tmp_path: Path) -> None:
    serving = make_site(tmp_path).serving
    serving.service.engine().save("note:/kept", "The ferry leaves at nine.")
    begun, ended = threading.Event(), threading.Event()

    def work(engine: Ricordo, _: Any) -> str:
        begun.set()
        ended.wait(60)
        return engine.get("note:/kept").content or ""

    task = serving.start("slow", work)
    assert begun.wait(60)
    serving.close()
    ended.set()
    asyncio.run(serving.tasks.wait(task, 60))
    assert (task.state, task.result) == ("done", "The ferry leaves at nine.")


def test_pages_are_followed_ten_links_deep_at_most(site: Site) -> None:
    answer = site.client.post("/add/sources", data={"sources": "https://nowhere.invalid/", "depth": "11"})
    assert answer.status_code == 422
    assert site.serving.tasks.all() == []
