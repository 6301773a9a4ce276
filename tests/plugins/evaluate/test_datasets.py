"""Reading retrieval sets, whole and broken."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ricordo.errors import NotFound, Unreadable, UsageError
from ricordo.plugins.evaluate.datasets import read_dataset


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A set of three documents and two queries."""
    corpus: list[dict[str, Any]] = [
        {"_id": "d1", "title": "Bees", "text": "Bees make honey."},
        {"_id": "d2", "text": "Rain falls.", "metadata": {"conversation": "c1"}},
        {"_id": 3, "title": None, "text": "Snow falls.", "metadata": {"conversation": "c1"}},
    ]
    queries: list[dict[str, Any]] = [
        {"_id": "q1", "text": "who makes honey"},
        {"_id": "q2", "text": "what falls", "metadata": {"conversation": "c1"}},
    ]
    write_lines(tmp_path / "corpus.jsonl", corpus)
    write_lines(tmp_path / "queries.jsonl", queries)
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t2\nq2\t3\t1\n")
    return tmp_path


def write_lines(file: Path, records: Sequence[Mapping[str, object]]) -> None:
    file.write_text("".join(json.dumps(record) + "\n" for record in records))


def test_a_set_is_read_whole(folder: Path) -> None:
    dataset = read_dataset(folder)
    assert [document.id for document in dataset.documents] == ["d1", "d2", "3"]
    assert dataset.judgements == {"q1": {"d1": 1.0}, "q2": {"d2": 2.0, "3": 1.0}}
    assert dataset.notes == ()


def test_a_conversation_becomes_thread_and_order(folder: Path) -> None:
    dataset = read_dataset(folder)
    assert [(document.thread, document.seq) for document in dataset.documents] == [
        (None, None),
        ("c1", 1),
        ("c1", 2),
    ]
    assert [question.thread for question in dataset.questions] == [None, "c1"]


def test_the_header_line_of_qrels_may_be_left_out(folder: Path) -> None:
    (folder / "qrels.tsv").write_text("q1\td1\t1\n")
    assert read_dataset(folder).judgements == {"q1": {"d1": 1.0}}


def test_the_four_columns_of_trec_are_understood(folder: Path) -> None:
    (folder / "qrels.tsv").write_text("q1 0 d1 1\nq2 0 d2 2\n")
    assert read_dataset(folder).judgements == {"q1": {"d1": 1.0}, "q2": {"d2": 2.0}}


def test_judgements_in_the_folder_beir_uses_are_found(folder: Path) -> None:
    (folder / "qrels").mkdir()
    (folder / "qrels.tsv").rename(folder / "qrels" / "test.tsv")
    assert len(read_dataset(folder).judgements) == 2


def test_ids_that_nothing_has_are_counted_in_the_notes(folder: Path) -> None:
    with (folder / "qrels.tsv").open("a") as qrels:
        qrels.write("q1\tnowhere\t1\nghost\td1\t1\n")
    dataset = read_dataset(folder)
    assert dataset.notes == (
        "qrels.tsv judges 1 queries that queries.jsonl does not have",
        "qrels.tsv names 1 documents that corpus.jsonl does not have",
    )
    assert dataset.judgements["q1"] == {"d1": 1.0, "nowhere": 1.0}


def test_a_query_without_a_relevant_document_is_left_out_with_a_note(folder: Path) -> None:
    (folder / "qrels.tsv").write_text("q1\td1\t1\nq2\td2\t0\n")
    dataset = read_dataset(folder)
    assert [question.id for question in dataset.questions] == ["q1"]
    assert dataset.notes == ("1 query has no relevant document and is not counted",)


def test_a_repeated_document_is_left_out_with_a_note(folder: Path) -> None:
    with (folder / "corpus.jsonl").open("a") as corpus:
        corpus.write('{"_id": "d1", "text": "again"}\n')
    dataset = read_dataset(folder)
    assert len(dataset.documents) == 3
    assert dataset.notes == ("1 documents repeat an id and were left out",)


def test_the_hash_follows_the_content(folder: Path) -> None:
    before = read_dataset(folder)
    with (folder / "queries.jsonl").open("a") as queries:
        queries.write('{"_id": "q3", "text": "new"}\n')
    after = read_dataset(folder)
    assert after.digest != before.digest
    assert after.corpus_digest == before.corpus_digest


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels.tsv"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(NotFound, match=name) as caught:
        read_dataset(folder)
    assert "corpus.jsonl, queries.jsonl and qrels.tsv" in caught.value.hint


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="nowhere"):
        read_dataset(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b'{"_id": "d9", ', "is not JSON"),
        (b"[1, 2]", "is not a JSON object"),
        (b'{"text": "no id"}', 'has no "_id"'),
        (b'{"_id": "\xff"}', "is not UTF-8"),
    ],
)
def test_a_broken_line_is_named_by_its_number(folder: Path, line: bytes, what: str) -> None:
    with (folder / "corpus.jsonl").open("ab") as corpus:
        corpus.write(b"\n" + line + b"\n")
    with pytest.raises(Unreadable, match=f"corpus.jsonl, line 5 {what}"):
        read_dataset(folder)


@pytest.mark.parametrize("line", ["q1\td1\tmany", "q1\td1", "q1\td1\tnan"])
def test_a_broken_judgement_is_named_by_its_number(folder: Path, line: str) -> None:
    with (folder / "qrels.tsv").open("a") as qrels:
        qrels.write(line + "\n")
    with pytest.raises(Unreadable, match=r"qrels\.tsv, line 5"):
        read_dataset(folder)


def test_a_set_whose_judgements_fit_nothing_is_refused(folder: Path) -> None:
    (folder / "qrels.tsv").write_text("a\tb\t1\n")
    with pytest.raises(UsageError, match="no query"):
        read_dataset(folder)
