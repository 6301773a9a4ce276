"""Every provider at the wire: what is sent, what comes back, and what is made of all that can go wrong."""

from __future__ import annotations

import importlib
import socket
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from ricordo.config.loading import Config, load_config
from ricordo.errors import ContractError, Unavailable
from ricordo.plugins.providers.http_embedder import PROVIDERS
from ricordo.registry import make_embedder

TEXTS = ["Rotate the signing keys every quarter.", "Bread needs water, flour and time.", "The cat sleeps."]


def embedder(service: Any, **settings: Any) -> Any:
    """The embedder that an engine with these settings would use."""
    named = {f"embedding.{name}": value for name, value in settings.items()}
    config: Config = load_config(service.settings | named)
    made = make_embedder(config.embedding, Path("nowhere"))
    assert made is not None
    return made


def test_a_question_is_nearest_to_the_text_that_answers_it(service: Any, waits: list[float]) -> None:
    model = embedder(service)
    documents = model.embed_documents(TEXTS)
    assert documents.shape == (3, model.dimensions)
    assert documents.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(documents, axis=1), 1, atol=1e-5)
    assert int((documents @ model.embed_query("which keys are rotated")).argmax()) == 0
    assert waits == []


def test_what_is_sent_is_what_each_service_expects(service: Any) -> None:
    model = embedder(service)
    model.embed_documents(TEXTS)
    model.embed_query("a question")
    documents, query = service.asked
    assert "key-one" in (documents.key, query.key)
    if service.provider == "openai":
        assert documents.body == {
            "model": "text-embedding-3-small",
            "input": TEXTS,
            "encoding_format": "float",
        }
    elif service.provider == "voyage":
        assert documents.body == {
            "model": "voyage-3.5",
            "input": TEXTS,
            "truncation": True,
            "input_type": "document",
        }
        assert query.body["input_type"] == "query"
    elif service.provider == "gemini":
        first = documents.body["requests"][0]
        assert first == {
            "model": "models/gemini-embedding-001",
            "taskType": "RETRIEVAL_DOCUMENT",
            "content": {"parts": [{"text": TEXTS[0]}]},
        }
        assert query.body["requests"][0]["taskType"] == "RETRIEVAL_QUERY"
    else:
        assert documents.body["model"] == "embeddinggemma"
        assert documents.texts[0] == f"title: none | text: {TEXTS[0]}"
        assert query.texts == ["task: search result | query: a question"]


def test_openai_itself_is_asked_for_exact_bytes(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    service = serve("openai")
    monkeypatch.setitem(PROVIDERS, "openai", replace(PROVIDERS["openai"], url=f"{service.url}/v1"))
    monkeypatch.setenv("OPENAI_API_KEY", "from-the-variable")
    model = make_embedder(load_config({"embedding.provider": "openai"}).embedding, Path("nowhere"))
    assert model is not None
    assert model.fingerprint == "openai/text-embedding-3-small/1536/own/plain"
    assert int((model.embed_documents(TEXTS) @ model.embed_query("bread and flour")).argmax()) == 1
    assert {asked.body["encoding_format"] for asked in service.asked} == {"base64"}
    assert {asked.key for asked in service.asked} == {"from-the-variable"}


def test_the_length_that_is_asked_for_is_the_length_of_vectors(service: Any) -> None:
    model = embedder(service, dimensions=128)
    vector = model.embed_query("short")
    assert vector.shape == (128,)
    assert float(np.linalg.norm(vector)) == pytest.approx(1, abs=1e-5)
    assert "/128/" in model.fingerprint


def test_a_fingerprint_needs_no_network_and_tells_what_decides_a_vector(service: Any) -> None:
    prints = {
        embedder(service).fingerprint,
        embedder(service, dimensions=128).fingerprint,
        embedder(service, model="another", dimensions=128).fingerprint,
    }
    assert len(prints) == 3
    if service.provider in ("voyage", "gemini", "ollama"):
        assert embedder(service, input_type="none").fingerprint not in prints
    assert service.asked == []
    assert not any("key-one" in one for one in prints)


def test_texts_go_in_batches_of_the_size_that_is_set(service: Any) -> None:
    texts = [f"text number {n}" for n in range(10)]
    vectors = embedder(service, batch_size=4).embed_documents(texts)
    assert [len(asked.texts) for asked in service.asked] == [4, 4, 2]
    np.testing.assert_array_equal(vectors[7], embedder(service).embed_documents(texts[7:8])[0])


def test_gemini_takes_no_more_than_100_at_a_time(serve: Any) -> None:
    service = serve("gemini")
    embedder(service, batch_size=500, dimensions=8).embed_documents(["again and again"] * 130)
    assert [len(asked.texts) for asked in service.asked] == [100, 30]


def test_any_text_has_a_vector(service: Any) -> None:
    model = embedder(service)
    for text in ("", " \n", "lone \ud800 surrogate", "nul \x00", "long " * 40_000, "漢字" * 20_000):
        assert np.isfinite(model.embed_query(text)).all()
        [sent] = service.asked[-1].texts
        assert sent.strip()
        assert len(sent.encode()) < 8_200


class TestPatience:
    def test_another_key_is_tried_at_once_when_one_is_used_up(self, service: Any, waits: list[float]) -> None:
        if service.provider == "ollama":
            pytest.skip("it has no keys")
        service.faults = ["429", "429"]
        model = embedder(service, api_keys=["key-one", "key-two", "key-three"])
        model.embed_query("patience")
        assert [asked.key for asked in service.asked] == ["key-one", "key-two", "key-three"]
        assert waits == []
        model.embed_query("again")
        assert service.asked[-1].key == "key-three"

    def test_when_all_keys_are_used_up_it_waits_as_long_as_it_is_told(self, service: Any, waits: list[float]) -> None:
        service.faults, service.retry_after = ["429", "429"], "2"
        embedder(service, api_keys=["key-one", "key-two"]).embed_query("patience")
        assert waits == [2.0]
        assert len(service.asked) == 3

    def test_of_several_keys_the_one_that_is_free_first_is_waited_for(self, serve: Any, waits: list[float]) -> None:
        service = serve("openai")
        service.breaks("429")
        told = iter(["9", "2", "5"])
        fault = service.fault

        def one_wait_each() -> str:
            service.retry_after = next(told, "")
            if not service.retry_after:
                service.mends()
            return str(fault())

        service.fault = one_wait_each
        embedder(service, api_keys=["key-one", "key-two", "key-three"]).embed_query("patience")
        assert waits == [2.0]

    def test_a_wait_beyond_all_bounds_is_not_begun(self, service: Any, waits: list[float]) -> None:
        service.breaks("429")
        service.retry_after = "3600"
        with pytest.raises(Unavailable, match="it asks to wait 3600 s") as refused:
            embedder(service).embed_documents(["anything"])
        assert waits == []
        assert "config set embedding.provider local" in refused.value.hint

    def test_googles_own_way_of_telling_how_long_is_understood(self, serve: Any, waits: list[float]) -> None:
        from ricordo.models.http import Trouble, trouble_in

        class Response:
            status_code = 429
            headers: ClassVar[dict[str, str]] = {}
            text = '{"error": {"message": "quota", "details": [{"retryDelay": "34s"}]}}'

            def json(self) -> Any:
                return {"error": {"message": "quota", "details": [{"retryDelay": "34s"}]}}

        trouble = trouble_in(Response())  # type: ignore[arg-type]
        assert isinstance(trouble, Trouble)
        assert (trouble.kind, trouble.retry_after) == ("busy", 34.0)

    def test_three_attempts_and_no_more(self, service: Any, waits: list[float]) -> None:
        service.faults = ["500", "500"]
        assert embedder(service).embed_query("third time lucky").shape
        assert len(service.asked) == 3
        assert 0 < waits[0] < waits[1]
        service.breaks("500")
        with pytest.raises(Unavailable, match="answered 500: The server had an error"):
            embedder(service).embed_query("no luck")
        assert len(service.asked) == 6

    def test_a_slow_service_is_left(self, service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("ricordo.models.http.ATTEMPTS", 1)
        service.breaks("slow")
        monkeypatch.setattr("ricordo.models.http.REQUEST_SECONDS", 0.5)
        with pytest.raises(Unavailable, match="did not answer"):
            embedder(service).embed_query("anyone there")


class TestDoubt:
    @pytest.mark.parametrize(
        ("fault", "reason"),
        [
            ("wrong dimension", "its vectors have 7 numbers"),
            ("nan", "NaN"),
            ("zeros", "a vector of zeros"),
            ("one missing", "gave 2 vectors for 3 texts"),
            ("ragged", "not lists of numbers of one length"),
            ("another form", "not of the expected form"),
            ("truncated", "its answer broke off"),
            ("bad json", "not JSON"),
            ("a page", "not JSON"),
            ("400", "answered 400: this input is not welcome"),
        ],
    )
    def test_a_broken_contract_is_an_error_that_says_what_to_do(
        self, service: Any, waits: list[float], fault: str, reason: str
    ) -> None:
        service.breaks(fault)
        with pytest.raises(ContractError, match=reason) as broken:
            embedder(service).embed_documents(TEXTS)
        assert broken.value.hint
        service.mends()
        assert len(embedder(service).embed_documents(TEXTS)) == 3

    def test_an_answer_that_broke_off_once_is_asked_for_again(self, service: Any, waits: list[float]) -> None:
        service.faults = ["truncated"]
        assert len(embedder(service).embed_documents(TEXTS)) == 3

    def test_the_hint_names_the_length_that_came(self, service: Any) -> None:
        service.breaks("wrong dimension")
        with pytest.raises(ContractError) as broken:
            embedder(service).embed_query("short")
        assert broken.value.hint == "Set embedding.dimensions to 7, then run 'ricordo embed'."

    def test_a_model_nobody_knows_has_no_length_until_it_is_measured(self, serve: Any) -> None:
        service = serve("ollama")
        model = embedder(service, model="brand-new:8b")
        with pytest.raises(Unavailable, match="is not known") as unknown:
            _ = model.fingerprint
        assert "ricordo models use ollama --model brand-new:8b" in unknown.value.hint
        assert service.asked == []
        assert model.embed_documents(["measure me"]).shape == (1, 768)


class TestReach:
    def test_a_closed_door_is_told_soon_and_how_to_go_on(self, service: Any, waits: list[float]) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            address = f"http://127.0.0.1:{taken.getsockname()[1]}"
            with pytest.raises(Unavailable, match="cannot be reached") as gone:
                embedder(service, base_url=address).embed_query("hello")
        assert gone.value.hint.endswith("To go on without it: 'ricordo config set embedding.provider local'")
        assert "\n" not in gone.value.message

    def test_a_name_that_is_never_found_does_not_hang(self, service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        asleep = threading.Event()
        monkeypatch.setattr("ricordo.models.http.REACH_SECONDS", 0.3)
        monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: asleep.wait(600) and [])
        with pytest.raises(Unavailable, match=r"cannot be reached within 0\.3 s"):
            embedder(service, base_url="http://nowhere.invalid").embed_query("hello")
        asleep.set()

    def test_an_address_that_is_none_is_said(self, service: Any) -> None:
        with pytest.raises((Unavailable, ContractError)) as wrong:
            embedder(service, base_url="nonsense").embed_query("hello")
        assert "embedding" in wrong.value.hint


class TestKeys:
    def test_a_missing_key_is_said_before_anything_is_sent(self, serve: Any) -> None:
        for provider, variable in (("voyage", "VOYAGE_API_KEY"), ("gemini", "GEMINI_API_KEY")):
            service = serve(provider)
            with pytest.raises(Unavailable, match=f"{variable} is not set") as missing:
                embedder(service, api_keys=[]).embed_query("hello")
            assert variable in missing.value.hint
            assert service.asked == []
        settings = load_config({"embedding.provider": "openai"}).embedding
        model = make_embedder(settings, Path("nowhere"))
        assert model is not None
        with pytest.raises(Unavailable, match="OPENAI_API_KEY is not set"):
            model.embed_query("hello")

    def test_a_compatible_service_of_ones_own_needs_no_key(self, serve: Any) -> None:
        service = serve("openai")
        assert embedder(service, api_keys=[]).embed_query("hello").shape == (1536,)

    def test_a_refused_key_is_passed_over_and_never_shown(self, service: Any) -> None:
        if service.provider == "ollama":
            pytest.skip("it has no keys")
        service.bad_keys = ("sk-secret-1", "sk-secret-2")
        assert embedder(service, api_keys=["sk-secret-1", "good"]).embed_query("hello").shape
        with pytest.raises(Unavailable, match="answered 401") as refused:
            embedder(service, api_keys=["sk-secret-1", "sk-secret-2"]).embed_query("hello")
        assert "sk-secret" not in refused.value.message + refused.value.hint
        assert len(service.asked) == 4

    def test_a_key_that_no_header_can_hold_is_not_sent(self, serve: Any) -> None:
        service = serve("voyage")
        with pytest.raises(Unavailable, match="characters that cannot be part of one"):
            embedder(service, api_keys=["schlüssel"]).embed_query("hello")
        assert service.asked == []

    def test_several_keys_may_stand_in_the_variable(self, serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        service = serve("voyage")
        monkeypatch.setenv("VOYAGE_API_KEY", "first, second")
        service.bad_keys = ("first",)
        embedder(service, api_keys=[]).embed_query("hello")
        assert [asked.key for asked in service.asked] == ["first", "second"]


def test_an_unknown_provider_is_told_which_there_are() -> None:
    settings = replace(load_config().embedding, provider="oracle")
    with pytest.raises(Unavailable, match="no embedding provider 'oracle'") as unknown:
        make_embedder(settings, Path("nowhere"))
    assert "local, hub, openai, voyage, gemini, ollama, none" in unknown.value.hint


class TestPlugins:
    @pytest.fixture
    def plugged(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A package that is installed and brings an embedder."""
        (tmp_path / "parrot.py").write_text(
            "import numpy as np\n"
            "class Parrot:\n"
            "    fingerprint, dimensions, max_tokens = 'parrot/1', 4, 256\n"
            "    def __init__(self, settings, folder): self.settings = settings\n"
            "    def embed_documents(self, texts): return np.eye(4, dtype=np.float32)[[0] * len(texts)]\n"
            "    def embed_query(self, text): return np.eye(4, dtype=np.float32)[0]\n"
            "class Service(Parrot):\n"
            "    asked = []\n"
            "    def embed_documents(self, texts): self.asked += texts; return super().embed_documents(texts)\n"
            "    def embed_query(self, text): self.asked.append(text); return super().embed_query(text)\n"
            "class Local(Service):\n"
            "    is_remote, asked = False, []\n"
            "def dead(settings, folder): return object()\n"
        )
        about = tmp_path / "parrot-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: parrot\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(
            "[ricordo.embedders]\nparrot = parrot:Parrot\nservice = parrot:Service\nhere = parrot:Local\n"
            "dead-parrot = parrot:dead\nlost = nowhere:Thing\n"
        )
        monkeypatch.syspath_prepend(str(tmp_path))
        return tmp_path

    def test_a_plugins_embedder_is_used_by_its_name(self, plugged: Path, open_engine: Any) -> None:
        engine = open_engine(vectors=True, **{"embedding.provider": "parrot"})
        engine.save("note:/one", "polly wants a cracker")
        assert engine.search("cracker").meta.degraded == ()
        assert engine.store.vectors.active_fingerprint() == "parrot/1/chunker-1"

    @pytest.mark.parametrize(("name", "model"), [("service", "Service"), ("here", "Local")])
    def test_an_embedder_that_does_not_say_where_it_runs_is_asked_like_a_service(
        self, plugged: Path, open_engine: Any, name: str, model: str
    ) -> None:
        engine = open_engine(vectors=True, **{"embedding.provider": name})
        engine.save("note:/one", "polly wants a cracker")
        engine.save("note:/two", "the cage is clean", wait=False)
        asked = getattr(importlib.import_module("parrot"), model).asked
        asked.clear()
        engine.search("Is there rain ahead of us? Also, name a museum nearby.", track=False)
        assert (len(asked) == 1) is (name == "service"), asked

    @pytest.mark.parametrize(
        ("name", "error", "reason"),
        [("dead-parrot", ContractError, "it lacks fingerprint"), ("lost", Unavailable, "cannot be loaded")],
    )
    def test_a_broken_plugin_is_named(self, plugged: Path, name: str, error: Any, reason: str) -> None:
        with pytest.raises(error, match=reason):
            make_embedder(replace(load_config().embedding, provider=name), Path("nowhere"))


@pytest.mark.parametrize("answer", [None, 7, [], {}, "text", [None], [[None]], [["a"]]])
def test_vectors_that_are_none_are_an_error_whatever_they_are(answer: Any) -> None:
    from ricordo.plugins.providers.embeddings import unit_vectors

    with pytest.raises(ContractError):
        unit_vectors(answer, 1, "ollama (a-model)", None)


def test_embeddings_use_the_keys_of_a_language_model_of_the_same_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    from ricordo.config.loading import ConfigProvider
    from ricordo.plugins.providers import with_keys_of_llm

    def keys(**settings: Any) -> tuple[str, ...]:
        given = {"embedding.provider": "openai", "llm.provider": "openai", "llm.api_keys": "k1,k2"}
        names = {name.replace("__", "."): value for name, value in settings.items()}
        config = ConfigProvider({**given, **names})()
        return (with_keys_of_llm(config) or config.embedding).api_keys

    assert keys() == ("k1", "k2")
    assert keys(embedding__api_keys="own") == ("own",)
    assert keys(llm__provider="anthropic") == ()
    assert keys(embedding__base_url="https://elsewhere.example/v1") == ()
    monkeypatch.setenv("OPENAI_API_KEY", "from the environment")
    assert keys() == ()
