"""Who may come in, and what strangers cannot do."""

from __future__ import annotations

import asyncio
import json
import socket
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.testclient import TestClient

from ricordo import UsageError
from ricordo.hosting.credentials import Credentials
from ricordo.http_api import guard
from ricordo.http_api.server import refuse_open_door

from .http_sites import LOCAL, Listening, Site, listen

PAGES = (
    "/", "/hits", "/browse", "/timeline", "/graph", "/log", "/profiles", "/compare", "/jobs", "/settings", "/add",
    "/api", "/item?ref=note:/a", "/api/v1/search?q=x", "/api/v1/openapi.json", "/mcp",
)  # fmt: skip
JSON = {"Content-Type": "application/json"}
SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}


def signed_in(site: Site) -> TestClient:
    browser = site.stranger()
    browser.get(f"/sign-in?code={site.serving.codes.new()}", follow_redirects=False)
    return browser


def test_strangers_see_nothing(site: Site) -> None:
    site.engine.save("note:/a", "A secret thought.")
    for path in PAGES:
        answer = site.stranger().get(path)
        assert answer.status_code == 401, path
        assert "secret thought" not in answer.text


def test_a_name_that_is_not_ours_is_refused_whatever_is_shown(site: Site) -> None:
    for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "[::2]"):
        answer = site.client.get("/api/v1/status", headers={"Host": host})
        assert (answer.status_code, answer.json()["error"]["code"]) == (421, "wrong_host")


def test_a_request_from_another_site_is_refused_whatever_is_shown(site: Site) -> None:
    for origin in ("http://evil.example", "null", "http://127.0.0.1:9", "https://127.0.0.1.evil.example"):
        answer = site.client.post("/api/v1/remember", json={"text": "x"}, headers={"Origin": origin})
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "wrong_origin")
    assert site.engine.count() == 0


def test_a_guest_sees_and_searches_and_changes_nothing(site: Site) -> None:
    site.engine.save("note:/a", "Rotate the signing keys.")
    link = signed_in(site).post("/api/v1/sign-in-links?scope=read", headers=SAME_ORIGIN).json()["link"]
    guest = site.stranger()
    guest.get(f"/sign-in?{link.partition('?')[2]}", follow_redirects=False)
    assert "signing keys" in guest.get("/", params={"q": "keys"}).text
    assert "Rotate" in guest.get("/item", params={"ref": "note:/a"}).text
    for path in ("/edit?ref=note:/a", "/add", "/review"):
        assert guest.get(path).status_code == 403
    changes: tuple[tuple[str, dict[str, object]], ...] = (
        ("/api/v1/remember", {"text": "x"}),
        ("/api/v1/rm", {"refs": ["note:/a"]}),
        ("/api/v1/sign-in-links", {}),
    )
    for path, body in changes:
        assert guest.post(path, json=body, headers=SAME_ORIGIN).status_code == 403
    assert site.engine.count() == 1


def test_a_cookie_alone_changes_nothing(site: Site) -> None:
    browser = signed_in(site)
    assert browser.get("/").status_code == 200
    form = {"ref": "note:/a", "text": "forged"}
    assert browser.post("/add/text", data=form).status_code == 403
    assert browser.post("/add/text", data=form, headers={"Origin": "http://evil.example"}).status_code == 403
    assert site.engine.count() == 0
    assert browser.post("/add/text", data=form, headers={"Origin": "http://127.0.0.1"}).status_code == 200
    assert site.engine.count() == 1


def test_pictures_and_scripts_of_other_sites_get_nothing_with_the_cookie(site: Site) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    assert signed_in(site).get("/api/v1/search?q=x", headers=headers).status_code == 403


def test_a_browsers_secret_is_no_token_and_a_token_signs_no_browser_in(site: Site) -> None:
    ((name, secret),) = signed_in(site).cookies.items()
    answer = site.stranger({"Authorization": f"Bearer {secret}"}).get("/api/v1/status")
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "wrong_token")
    assert site.stranger({"Cookie": f"{name}={secret}"}).get("/api/v1/status").status_code == 200
    token, _ = site.serving.credentials.add("script", "admin")
    assert site.stranger({"Cookie": f"{name}={token}"}).get("/api/v1/status").status_code == 401


def test_a_link_signs_one_browser_in_once(site: Site) -> None:
    code = site.serving.codes.new()
    first = site.stranger().get(f"/sign-in?code={code}", follow_redirects=False)
    cookie = first.headers["set-cookie"]
    assert first.status_code == 303
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    again = site.stranger().get(f"/sign-in?code={code}", follow_redirects=False)
    assert again.status_code == 401
    assert "set-cookie" not in again.headers


def test_signing_out_ends_the_session(site: Site) -> None:
    browser = signed_in(site)
    browser.post("/sign-out", headers={"Origin": "http://127.0.0.1"})
    assert browser.get("/").status_code == 401


SCOPES: tuple[tuple[str, str, dict[str, str], int], ...] = (
    ("read", "/api/v1/remember", {"text": "x"}, 403),
    ("write", "/api/v1/remember", {"text": "x"}, 200),
    ("write", "/api/v1/config", {"name": "search.limit", "value": "5"}, 403),
    ("write", "/api/v1/tokens", {"name": "mine", "scope": "admin"}, 403),
    ("write", "/api/v1/backup", {"file": "/tmp/x"}, 403),
    ("write", "/api/v1/sign-in-links", {}, 403),
    ("read", "/mcp", {}, 403),
)


def test_a_token_may_do_what_its_scope_says(site: Site) -> None:
    for scope, path, body, status in SCOPES:
        assert site.as_scope(scope).post(path, json=body).status_code == status, path


def test_a_token_that_may_write_cannot_read_files_of_the_machine(site: Site, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the crown jewels", encoding="utf-8")
    writer = site.as_scope("write")
    assert writer.post("/api/v1/add?wait=10", json={"sources": [str(secret)]}).status_code == 403
    for ref in (f"disk:{secret}", str(secret)):
        assert writer.post("/api/v1/save", json={"ref": ref, "content": "x"}).status_code == 403
    writer.post("/api/v1/save", json={"ref": "note:/x", "content": "x"})
    assert writer.post("/api/v1/mv", json={"ref": "note:/x", "new_ref": f"disk:{secret}"}).status_code == 403
    writer.post("/api/v1/refresh?wait=10", json={"refs": [f"disk:{secret}"]})
    assert site.engine.search("crown jewels").hits == ()


def tool_called(site: Listening, scope: str, name: str, arguments: dict[str, Any]) -> str:
    """What a tool answers over MCP to a token of a scope."""
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    secret, _ = site.serving.credentials.add(scope, scope)

    async def talk() -> str:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {secret}"}) as web,
            Client(streamable_http_client(f"{site.address}/mcp", http_client=web)) as client,
        ):
            answer: Any = await client.call_tool(name, arguments)
            return str(answer.content[0].text)

    return anyio.run(talk)


def test_over_mcp_a_token_that_may_write_reads_no_file_writes_under_no_file_and_sets_nothing(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the crown jewels", encoding="utf-8")
    site, end = listen(tmp_path, toolsets=("context", "memory", "verbs"))
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("add", {"sources": [str(secret)]}),
        ("add", {"sources": [secret.as_uri()]}),
        ("add", {"sources": [str(tmp_path)]}),
        ("add", {"text": "x", "ref": f"disk:{secret}"}),
        ("context_write", {"ref": f"disk:{secret}", "content": "x"}),
        ("save", {"ref": f"disk:{secret}", "content": "x"}),
        ("mv", {"ref": "note:/mine", "new_ref": f"disk:{secret}"}),
        ("set_config", {"key": "search.limit", "value": "5"}),
    )
    try:
        site.engine.save("note:/mine", "Mine.")
        for name, arguments in calls:
            assert "forbidden" in tool_called(site, "write", name, arguments), name
        assert site.engine.search("crown jewels").hits == ()
        assert "created" in tool_called(site, "write", "add", {"text": "A plan.", "ref": "note:/plan"})
        assert "forbidden" not in tool_called(site, "admin", "add", {"sources": [str(secret)]})
        assert site.engine.search("crown jewels").hits
    finally:
        end()


def test_a_token_that_may_write_may_send_files(site: Site) -> None:
    sent = [("files", ("plan.md", b"Ship on Friday.", "text/plain"))]
    answer = site.as_scope("write").post("/api/v1/upload?wait=20", files=sent).json()
    assert [item["ref"] for item in answer["result"]["items"]] == ["agent:/uploads/plan.md"]


def test_the_name_of_a_sent_file_leads_nowhere_else(site: Site) -> None:
    for name in ("../../etc/passwd", "..\\..\\evil.md", "/etc/passwd", "a/../../b.md"):
        answer = site.client.post("/api/v1/upload?wait=20", files=[("files", (name, b"Some text.", "text/plain"))])
        refs = [item["ref"] for item in answer.json()["result"]["items"]]
        assert [ref.rpartition("/")[0] for ref in refs] == ["agent:/uploads"]


def test_a_name_that_leads_outside_shows_and_writes_nothing_there(
    new_site: Callable[..., Site], tmp_path: Path
) -> None:
    folder = tmp_path / "home" / "knowledge"
    site = new_site(**{"knowledge.folder": str(folder)})
    (tmp_path / "secret.md").write_text("the crown jewels", encoding="utf-8")
    for ref in ("note:/../../secret", "note:/../secret.md", f"disk:{tmp_path}/secret.md"):
        for path in ("/api/v1/get", "/item", "/edit", "/api/v1/history"):
            answer = site.client.get(path, params={"ref": ref})
            assert (answer.status_code, "crown" in answer.text) == (404, False), f"{path} {ref}"
    for ref in ("note:/../../outside", "note:/a/../../../outside.md", "memory:/..\\..\\outside", "note://etc/outside"):
        site.client.post("/api/v1/save", json={"ref": ref, "content": "Written from outside."})
    written = [path for path in tmp_path.rglob("*") if path.suffix == ".md" and path.name != "secret.md"]
    assert written
    assert all(folder in path.parents for path in written), written


def test_static_files_are_those_of_a_list(site: Site) -> None:
    assert site.stranger().get("/static/app.css").status_code == 200
    for name in ("../pages.py", "..%2fpages.py", "app.css/..", "nothing.js"):
        assert site.stranger().get(f"/static/{name}").status_code in (401, 404)


def test_large_bodies_are_refused_whether_or_not_they_say_so(
    new_site: Callable[..., Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "LARGEST", 10_000)
    site = new_site()
    body = json.dumps({"text": "x" * 20_000}).encode()
    assert site.client.post("/api/v1/remember", content=body).status_code == 413
    told_less = site.client.post("/api/v1/remember", content=iter([body[:5_000], body[5_000:]]))
    assert told_less.status_code == 413
    assert site.engine.count() == 0


def test_a_body_is_taken_up_to_the_limit_and_not_a_byte_beyond(
    new_site: Callable[..., Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "LARGEST", 10_000)
    site = new_site()
    body = json.dumps({"text": "The ferry leaves at nine."}).encode().ljust(10_000)
    for sent in (body, iter([body[:600], body[600:]])):
        assert site.client.post("/api/v1/remember", content=sent, headers=JSON).status_code == 200
    for sent in (body + b" ", iter([body[:600], body[600:], b" "])):
        assert site.client.post("/api/v1/remember", content=sent, headers=JSON).status_code == 413


def answered(site: Site, scope: str, path: str, head: dict[str, str], parts: Sequence[bytes]) -> tuple[int, int]:
    """The status of an answer to a request, and how many parts of the body were read for it."""
    secret, _ = site.serving.credentials.add(scope, scope)
    headers = {"host": "127.0.0.1", "authorization": f"Bearer {secret}", "content-type": "application/json", **head}
    asked: dict[str, Any] = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80), "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }  # fmt: skip
    unread, sent = list(parts), []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": unread.pop(0), "more_body": bool(unread)}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def call() -> None:
        await site.app(asked, receive, send)

    anyio.run(call)
    return sent[0]["status"], len(parts) - len(unread)


def test_nothing_of_a_body_is_read_for_a_caller_who_may_not_send_it(site: Site) -> None:
    parts = [b'{"text": "', b"x" * 1000, b'"}']
    for scope, path in (("read", "/api/v1/remember"), ("write", "/api/v1/config"), ("read", "/add/text")):
        assert answered(site, scope, path, {}, parts) == (403, 0), path
    assert answered(site, "write", "/api/v1/remember", {}, parts) == (200, 3)


def test_how_much_may_be_sent_depends_on_who_sends_it_and_where_to(site: Site) -> None:
    for scope, path, most in (
        ("read", "/api/v1/search", 1_000_000),
        ("write", "/mcp", 4_259_840),
        ("write", "/api/v1/remember", 64_000_000),
    ):
        status, parts = answered(site, scope, path, {"content-length": str(most + 1)}, [b"x"])
        assert (status, parts) == (413, 0), path
        if path != "/mcp":  # it runs only in a server that was started
            assert answered(site, scope, path, {"content-length": str(most)}, [b"x"])[0] != 413, path


def deep(levels: int) -> bytes:
    return b'{"text": "x", "fields": {"a": ' + b"[" * (levels - 2) + b"]" * (levels - 2) + b"}}"


@pytest.mark.parametrize(
    ("media_type", "body", "status", "words"),
    [
        ("application/json", deep(101), 400, "nested more than 100 deep"),
        ("application/json", deep(500), 400, "nested more than 100 deep"),
        ("application/json", deep(1_000_000), 413, "more than 200,000 values"),
        ("application/json", b"[" + b"0," * 200_001 + b"0]", 413, "more than 200,000 values"),
        ("application/json", b"{" + b'"a":0,' * 10_001 + b'"a":0}', 413, "more than 10,000 names"),
        ("application/x-www-form-urlencoded", b"a=1&" * 10_001, 413, "more than 10,000 names"),
        ("application/json", b'{"other": "' + b"[{:," * 20_000 + b'"}', 422, "Field required"),
        ("application/json", b'{"other": "' + rb"\"" * 5_000 + b"[" * 101 + b'"}', 422, "Field required"),
    ],
)
def test_a_body_is_refused_by_its_shape_before_it_is_parsed(
    site: Site, media_type: str, body: bytes, status: int, words: str
) -> None:
    answer = site.as_scope("write").post("/api/v1/remember", content=body, headers={"Content-Type": media_type})
    assert (answer.status_code, words in answer.text) == (status, True), answer.text[:300]


def test_a_body_that_is_no_json_is_told_as_such(site: Site) -> None:
    kind = {"Content-Type": "application/json"}
    answer = site.as_scope("write").post("/api/v1/remember", content=b'{"text": oops}', headers=kind)
    assert answer.json()["error"]["message"] == "the body is not valid JSON, from character 9 on"


def test_the_shape_of_a_long_body_is_looked_at_beside_the_loop(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_in: list[bool] = []

    def look(body: bytes, media_type: str) -> None:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            looked_in.append(False)
        else:
            looked_in.append(True)

    monkeypatch.setattr(guard, "refuse_shape", look)
    for length in (10, 100_000):
        site.client.post("/api/v1/remember", json={"text": "x" * length})
    assert looked_in == [True, False]


def test_a_body_that_says_it_is_too_large_is_refused_before_it_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "LARGEST", 10_000)
    site, end = listen(tmp_path)
    try:
        with socket.create_connection(("127.0.0.1", site.port), timeout=300) as caller:
            head = f"Host: 127.0.0.1:{site.port}\r\nAuthorization: Bearer {LOCAL}\r\nContent-Length: 10001"
            caller.sendall(f"POST /api/v1/remember HTTP/1.1\r\n{head}\r\n\r\n".encode())
            assert caller.recv(100).startswith(b"HTTP/1.1 413 ")
    finally:
        end()


def test_every_answer_forbids_foreign_scripts_frames_and_guessing(site: Site) -> None:
    for path in ("/", "/api/v1/status", "/static/app.js", "/healthz", "/nothing"):
        headers = site.client.get(path).headers
        policy = headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"


def test_only_hashes_of_secrets_are_kept_in_a_private_file(tmp_path: Path) -> None:
    credentials = Credentials(tmp_path / "credentials.json")
    secret, made = credentials.add("script", "read")
    assert secret not in credentials.path.read_text(encoding="utf-8")
    assert stat.S_IMODE(credentials.path.stat().st_mode) == 0o600
    caller = credentials.check(secret, "token")
    assert caller is not None
    assert caller.scope == "read"
    Credentials(credentials.path).remove(made.id)
    assert credentials.check(secret, "token") is None


def test_a_token_ends_when_its_days_are_over(tmp_path: Path) -> None:
    credentials = Credentials(tmp_path / "credentials.json")
    secret, _ = credentials.add("short", "read", days=-1)
    assert credentials.check(secret, "token") is None


def test_an_address_that_others_can_reach_needs_a_token(tmp_path: Path) -> None:
    credentials = Credentials(tmp_path / "credentials.json")
    refuse_open_door("127.0.0.1", credentials)
    with pytest.raises(UsageError, match="needs a token"):
        refuse_open_door("0.0.0.0", credentials)
    credentials.add("anyone", "read")
    refuse_open_door("0.0.0.0", credentials)


def test_an_unknown_path_says_so_without_telling_what_runs_here(site: Site) -> None:
    assert site.client.get("/wp-admin.php").json()["error"]["code"] == "not_found"
    browser = {"Accept": "text/html,*/*;q=0.8"}
    page = site.client.get("/wp-admin.php", headers=browser)
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "there is no such page" in page.text
    assert site.client.get("/api/v1/wp-admin", headers=browser).json()["error"]["code"] == "not_found"
    assert "server" not in site.client.get("/").headers
