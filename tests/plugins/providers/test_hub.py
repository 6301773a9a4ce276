"""Models by their name on a hub, or from a folder: run as their files say, and fetched once."""

from __future__ import annotations

import errno
import hashlib
import json
import re
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ricordo.config.loading import load_config
from ricordo.errors import ContractError, Unavailable
from ricordo.registry import make_embedder

SENTENCES = Path(__file__).parents[2] / "fixtures" / "sentence_model"
JUDGE = Path(__file__).parents[2] / "fixtures" / "cross_encoder"
VOCABULARY = json.loads((SENTENCES / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
REVISION = "0123456789abcdef0123456789abcdef01234567"


def embedder(model: Path | str, kept_in: Path = Path("nowhere"), **settings: Any) -> Any:
    named = {f"embedding.{name}": value for name, value in settings.items()}
    config = load_config({"embedding.provider": "hub", "embedding.model": str(model), **named})
    return make_embedder(config.embedding, kept_in)


def counted(*words: str, pooling: str = "cls") -> Any:
    """The vector that the fixture gives these words, by hand: a row per token, plus the mean of all rows."""
    rows = np.eye(32)[[VOCABULARY[word] for word in ("[CLS]", *words, "[SEP]")]]
    vector = rows[0] + rows.mean(axis=0) if pooling == "cls" else rows.mean(axis=0) * 2
    return vector / np.linalg.norm(vector)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model that a test may change."""
    return Path(shutil.copytree(SENTENCES, tmp_path / "words"))


def describe(folder: Path, file: str, about: Any) -> None:
    (folder / file).write_text(json.dumps(about), "utf-8")


class TestFolder:
    def test_pooling_prefixes_and_window_are_those_of_the_files(self) -> None:
        model = embedder(SENTENCES)
        assert (model.dimensions, model.max_tokens, model.pooling) == (32, 64, "cls")
        assert model.prompts == ("", "the old ")
        np.testing.assert_allclose(model.embed_query("Kettle"), counted("the", "old", "kettle"), atol=1e-6)
        [vector] = model.embed_documents(["hot tea"])
        np.testing.assert_allclose(vector, counted("hot", "tea"), atol=1e-6)

    def test_a_text_has_one_vector_alone_and_in_company(self) -> None:
        model = embedder(SENTENCES)
        texts = ["tea", "hot tea", "a fresh pot with hot tea", "tea", ""]
        together = model.embed_documents(texts)
        np.testing.assert_array_equal(together, [model.embed_documents([text])[0] for text in texts])

    def test_mean_pooling(self, folder: Path) -> None:
        describe(folder, "1_Pooling/config.json", {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False})
        model = embedder(folder)
        [vector] = model.embed_documents(["hot tea"])
        np.testing.assert_allclose(vector, counted("hot", "tea", pooling="mean"), atol=1e-6)
        assert "/mean/" in model.fingerprint

    def test_a_pooling_nobody_knows_is_refused(self, folder: Path) -> None:
        describe(folder, "1_Pooling/config.json", {"pooling_mode_weightedmean_tokens": True})
        with pytest.raises(Unavailable, match="pooling_mode_weightedmean_tokens"):
            embedder(folder).embed_documents(["tea"])

    def test_a_family_is_known_where_the_files_say_nothing(self, folder: Path, tmp_path: Path) -> None:
        shutil.rmtree(folder / "1_Pooling")
        (folder / "config_sentence_transformers.json").unlink()
        assert embedder(folder).prompts == ("", "")
        assert embedder(folder).pooling == "mean"
        small = embedder(folder.rename(tmp_path / "bge-small-en-v1.5"))
        assert small.pooling == "cls"
        assert small.prompts == ("", "Represent this sentence for searching relevant passages: ")
        assert embedder(tmp_path / "bge-small-en-v1.5", input_type="none").prompts == ("", "")

    def test_a_text_longer_than_the_window_is_cut(self) -> None:
        model = embedder(SENTENCES)
        np.testing.assert_allclose(
            model.embed_documents(["tea " * 5000])[0], model.embed_documents(["tea " * 62])[0], atol=1e-6
        )

    def test_any_text_has_a_vector(self) -> None:
        vectors = embedder(SENTENCES).embed_documents(["", "\x00", "\ud800 lone", "漢字", "x" * 1_000_000])
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)

    def test_shorter_vectors_on_request(self) -> None:
        model = embedder(SENTENCES, dimensions=8)
        assert model.embed_query("tea").shape == (8,)
        assert float(np.linalg.norm(model.embed_query("tea"))) == pytest.approx(1, abs=1e-5)
        with pytest.raises(Unavailable, match="of 32 numbers, not 64"):
            _ = embedder(SENTENCES, dimensions=64).dimensions

    def test_the_same_files_are_the_same_model_wherever_they_are(self, folder: Path, tmp_path: Path) -> None:
        before = embedder(folder).fingerprint
        moved = Path(shutil.copytree(folder, tmp_path / "elsewhere" / "words"))
        assert embedder(moved).fingerprint == before
        content = bytearray((moved / "onnx" / "model.onnx").read_bytes())
        content[-100] ^= 1
        (moved / "onnx" / "model.onnx").write_bytes(content)
        assert embedder(moved).fingerprint != before

    @pytest.mark.parametrize(
        ("spoil", "error", "reason"),
        [
            (lambda folder: shutil.rmtree(folder / "onnx"), Unavailable, "no ONNX model in"),
            (lambda folder: (folder / "onnx" / "model.onnx").write_bytes(b"no"), Unavailable, "cannot be loaded"),
            (lambda folder: (folder / "tokenizer.json").unlink(), Unavailable, "no tokenizer.json"),
            (lambda folder: (folder / "tokenizer.json").write_bytes(b"{"), Unavailable, "cannot be read"),
            (lambda folder: (folder / "config.json").write_bytes(b"{"), Unavailable, "config.json cannot be read"),
            (
                lambda folder: describe(folder, "1_Pooling/config.json", {"word_embedding_dimension": 48}),
                ContractError,
                "its vectors have 32 numbers, 48 expected",
            ),
            (
                lambda folder: shutil.copy(JUDGE / "model.onnx", folder / "onnx" / "model.onnx"),
                ContractError,
                "its vectors have 1 numbers",
            ),
        ],
    )
    def test_a_broken_folder_is_an_error_that_says_what(
        self, folder: Path, spoil: Callable[[Path], Any], error: Any, reason: str
    ) -> None:
        spoil(folder)
        with pytest.raises(error, match=re.escape(reason)):
            embedder(folder).embed_documents(["tea"])

    @pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
    def test_a_missing_package_is_not_taken_for_a_damaged_file(
        self, package: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(Unavailable, match=f"need {package}") as caught:
            embedder(SENTENCES).embed_documents(["tea"])
        assert f"pip install --force-reinstall {package}" in caught.value.hint

    @pytest.mark.parametrize("name", ["./nowhere", "/no/such/folder", "...", "a/b/c", "~/missing", "http://x.y/z"])
    def test_what_is_neither_a_folder_nor_a_name_is_refused(self, name: str) -> None:
        with pytest.raises(Unavailable, match="there is no folder"):
            embedder(name)


class Hub:
    """A hub with two models, in the format of the real one."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.models = {"makers/words": SENTENCES, "makers/judge": JUDGE}
        self.url = ""
        self.is_silent = False
        self.wakes = threading.Event()

    def files(self, name: str) -> dict[str, bytes]:
        folder = self.models[name]
        found = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        return found | {"README.md": b"# A model", "pytorch_model.bin": b"weights " * 100}

    def handler(self) -> type[BaseHTTPRequestHandler]:
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                hub.asked.append(f"{self.command} {self.path}")
                if hub.is_silent:
                    hub.wakes.wait(300)
                about = re.fullmatch(r"/api/models/([^/]+/[^/?]+)(/revision/[^?]+)?(\?.*)?", self.path)
                file = re.fullmatch(r"/([^/]+/[^/]+)/resolve/([0-9a-f]+|main)/([^?]+)(\?.*)?", self.path)
                if about and about[1] in hub.models:
                    siblings = [{"rfilename": name} for name in sorted(hub.files(about[1]))]
                    plain = {"id": about[1], "modelId": about[1], "sha": REVISION, "siblings": siblings, "tags": []}
                    self.say(200, json.dumps(plain).encode(), {"Content-Type": "application/json"})
                elif file and file[1] in hub.models and file[3] in (files := hub.files(file[1])):
                    content = files[file[3]]
                    tag = hashlib.sha256(content).hexdigest()
                    self.say(200, content, {"ETag": f'"{tag}"', "X-Repo-Commit": REVISION, "Accept-Ranges": "bytes"})
                else:
                    code = "EntryNotFound" if file and file[1] in hub.models else "RepoNotFound"
                    self.say(404, b'{"error": "Repository not found"}', {"X-Error-Code": code})

            def do_HEAD(self) -> None:
                self.do_GET()

            def say(self, status: int, body: bytes, headers: dict[str, str]) -> None:
                try:
                    self.send_response(status)
                    for name, value in ({"Content-Length": str(len(body))} | headers).items():
                        self.send_header(name, value)
                    self.end_headers()
                    if self.command != "HEAD":
                        self.wfile.write(body)
                except OSError:
                    self.close_connection = True

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setattr("ricordo.plugins.providers.hub.REACH_SECONDS", 60.0)  # other work may go on beside these tests
    made = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), made.handler())
    server.daemon_threads = True
    made.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.wakes.set()
    server.shutdown()
    thread.join()
    server.server_close()


class TestHub:
    def test_a_model_is_fetched_by_name_and_then_needs_no_hub(self, hub: Hub, tmp_path: Path) -> None:
        model = embedder("makers/words", tmp_path / "models", base_url=hub.url)
        assert model.fingerprint == f"hub/makers/words/onnx/model.onnx-{REVISION[:8]}/32/cls/64/f9099819"
        assert not any(path.endswith(("model.onnx", "tokenizer.json")) for path in hub.asked)
        [vector] = model.embed_documents(["hot tea"])
        np.testing.assert_allclose(vector, counted("hot", "tea"), atol=1e-6)
        assert not any("pytorch_model" in path or "README" in path for path in hub.asked)
        assert (tmp_path / "models" / "makers--words" / "onnx" / "model.onnx").is_file()
        before = len(hub.asked)
        again = embedder("makers/words", tmp_path / "models", base_url=hub.url)
        np.testing.assert_array_equal(again.embed_documents(["hot tea"])[0], vector)
        assert len(hub.asked) == before

    def test_a_query_does_not_wait_for_a_download(self, hub: Hub, tmp_path: Path) -> None:
        model = embedder("makers/words", tmp_path / "models", base_url=hub.url)
        with pytest.raises(Unavailable, match="is not downloaded yet") as absent:
            model.embed_query("hot tea")
        assert "ricordo models use hub" in absent.value.hint
        model.embed_documents(["hot tea"])
        assert model.embed_query("hot tea").shape == (32,)

    def test_a_name_that_the_hub_does_not_have(self, hub: Hub, tmp_path: Path) -> None:
        with pytest.raises(Unavailable, match="the hub has no model makers/nothing") as missing:
            embedder("makers/nothing", tmp_path, base_url=hub.url).embed_documents(["tea"])
        assert "embedding.provider local" in missing.value.hint

    def test_a_model_without_onnx_is_told_so(self, hub: Hub, tmp_path: Path, folder: Path) -> None:
        shutil.rmtree(folder / "onnx")
        hub.models["makers/bare"] = folder
        with pytest.raises(Unavailable, match="makers/bare has no ONNX file"):
            embedder("makers/bare", tmp_path, base_url=hub.url).embed_documents(["tea"])

    @pytest.mark.parametrize("way", ["closed", "silent"])
    def test_a_hub_that_cannot_be_reached_is_one_line_within_the_time(
        self, hub: Hub, tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("ricordo.plugins.providers.hub.REACH_SECONDS", 0.5)
        hub.is_silent = True
        url = hub.url if way == "silent" else "http://127.0.0.1:9"
        model = embedder("makers/words", tmp_path, base_url=url)
        with pytest.raises(Unavailable, match="makers/words is needed, and the hub cannot be reached") as gone:
            _ = model.fingerprint
        assert "\n" not in gone.value.message + gone.value.hint
        assert "embedding.provider local" in gone.value.hint
        asked = len(hub.asked)
        with pytest.raises(Unavailable):
            model.embed_documents(["tea"])
        assert len(hub.asked) == asked  # it does not wait again

    def test_a_full_disk_is_not_taken_for_a_hub_that_cannot_be_reached(
        self, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*_: Any, **__: Any) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr("huggingface_hub.hf_hub_download", full)
        with pytest.raises(Unavailable, match=r"cannot be kept in .*No space left on device") as caught:
            embedder("makers/words", tmp_path, base_url=hub.url).embed_documents(["tea"])
        assert "free space" in caught.value.hint

    def test_a_mistake_of_ours_is_not_taken_for_a_hub_that_cannot_be_reached(
        self, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("huggingface_hub.hf_hub_download", lambda: None)
        with pytest.raises(TypeError):
            embedder("makers/words", tmp_path, base_url=hub.url).embed_documents(["tea"])

    def test_the_item_is_kept_while_the_hub_is_gone_and_embedded_when_it_is_back(
        self, hub: Hub, open_engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("ricordo.plugins.providers.hub.REMEMBERED_SECONDS", 0.0)
        settings = {"embedding.provider": "hub", "embedding.model": "makers/words"}
        engine = open_engine("gone", vectors=True, **settings, **{"embedding.base_url": "http://127.0.0.1:9"})
        assert engine.save("note:/tea", "fresh hot tea").status == "created"
        answer = engine.search("tea")
        assert [hit.ref for hit in answer.hits] == ["note:/tea"]
        assert "cannot be reached" in engine.embed().stopped
        engine.close()
        back = open_engine("gone", vectors=True, **settings, **{"embedding.base_url": hub.url})
        assert back.embed().embedded == 1
        assert (tmp_path / "models" / "makers--words").is_dir()
        assert back.search("hot tea").meta.degraded == ()

    def test_a_cross_encoder_by_name(self, hub: Hub, open_engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        engine = open_engine(**{"rerank.model": "makers/judge"})
        engine.save("note:/pot", "an iron pot, an iron pot", fields={"importance": 5})
        engine.save("note:/tea", "hot tea in an iron pot")
        assert "is not downloaded yet" in engine.search("hot tea pot", rerank="cross-encoder").meta.degraded[0]
        assert engine.use_model("cross-encoder", dry_run=True).model == "makers/judge"
        answer = engine.search("hot tea pot", rerank="cross-encoder", explain=True)
        assert answer.meta.degraded == ()
        assert [step for step, _ in answer.hits[0].explain.steps][-2:] == ["rerank opinion", "rerank blend"]
