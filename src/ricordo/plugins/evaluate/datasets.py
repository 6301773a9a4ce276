"""Reads retrieval sets from disk: a folder with ``corpus.jsonl``, ``queries.jsonl`` and ``qrels.tsv``, as in BEIR.

A document is ``{"_id", "title", "text", "metadata"}``, a query ``{"_id", "text", "metadata"}``, a judgement ``query-id
<tab> corpus-id <tab> grade``. ``metadata.conversation`` puts a document into a thread and limits a query to it. Nothing
is indexed or searched here.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from ricordo.errors import NotFound, Unreadable, UsageError
from ricordo.frozen import frozen

_SHAPE = "A set is a folder with corpus.jsonl, queries.jsonl and qrels.tsv; see docs/evaluation.md."


@frozen
class Document:
    """One document of the corpus; ``thread`` and ``seq`` place it in its conversation."""

    id: str
    text: str
    title: str = ""
    thread: str | None = None
    seq: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@frozen
class Question:
    """One query; ``thread`` limits it to one conversation."""

    id: str
    text: str
    thread: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@frozen
class Dataset:
    """A retrieval set: documents, the queries that have a relevant document, and their judgements.

    ``digest`` is the hash of all three files, ``corpus_digest`` that of the corpus alone, on which an index depends.
    """

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
    judgements: Mapping[str, Mapping[str, float]]
    digest: str
    corpus_digest: str
    notes: tuple[str, ...] = ()


def read_dataset(folder: str | Path) -> Dataset:
    """Read a set; a missing file is ``NotFound``, a broken line ``Unreadable`` with the line's number."""
    root = Path(folder).expanduser()
    if not root.is_dir():
        raise NotFound(f"there is no folder '{root}'", hint=_SHAPE)
    corpus_file = _required(root, "corpus.jsonl")
    queries_file = _required(root, "queries.jsonl")
    qrels_file = _required(root, "qrels.tsv", "qrels/test.tsv")
    documents, repeated = _read_documents(corpus_file)
    questions = _read_questions(queries_file)
    judgements, notes = _checked(_read_judgements(qrels_file), documents, questions)
    if repeated:
        notes.insert(0, f"{repeated} documents repeat an id and were left out")
    kept = tuple(question for question in questions if question.id in judgements)
    if len(kept) < len(questions):
        out = len(questions) - len(kept)
        counted = "1 query has" if out == 1 else f"{out:,} queries have"
        notes.append(f"{counted} no relevant document and {'is' if out == 1 else 'are'} not counted")
    if not kept:
        raise UsageError(
            f"no query of '{root}' has a relevant document in the corpus",
            hint="Check that the ids in qrels.tsv are those of queries.jsonl and corpus.jsonl.",
        )
    return Dataset(
        name=root.resolve().name,
        documents=documents,
        questions=kept,
        judgements=judgements,
        digest=_digest(corpus_file, queries_file, qrels_file),
        corpus_digest=_digest(corpus_file),
        notes=tuple(notes),
    )


def _required(root: Path, *names: str) -> Path:
    for name in names:
        if (root / name).is_file():
            return root / name
    raise NotFound(f"'{root}' has no {names[0]}", hint=_SHAPE)


def _digest(*files: Path) -> str:
    whole = hashlib.sha256()
    for file in files:
        with file.open("rb") as stream:
            whole.update(hashlib.file_digest(stream, "sha256").digest())
    return whole.hexdigest()


def _records(file: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Each line's number and object; blank lines are skipped."""
    with file.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            try:
                record = json.loads(line.decode("utf-8-sig"))
            except UnicodeDecodeError:
                raise _broken(file, number, "is not UTF-8") from None
            except json.JSONDecodeError as error:
                raise _broken(file, number, f"is not JSON ({error.msg}, column {error.colno})") from None
            if not isinstance(record, dict):
                raise _broken(file, number, "is not a JSON object")
            yield number, record


def _broken(file: Path, number: int, what: str) -> Unreadable:
    return Unreadable(f"{file}, line {number} {what}", hint=f"Correct or remove that line. {_SHAPE}")


def _identity(file: Path, number: int, record: Mapping[str, Any]) -> str:
    identity = record.get("_id", record.get("id"))
    if isinstance(identity, bool) or not isinstance(identity, (str, int)) or identity == "":
        raise _broken(file, number, 'has no "_id"')
    return str(identity)


def _metadata(record: Mapping[str, Any]) -> tuple[Mapping[str, Any], str | None]:
    """The metadata of a record, and the thread that they name."""
    given = record.get("metadata")
    metadata = given if isinstance(given, dict) else {}
    conversation = metadata.get("conversation")
    return metadata, None if conversation is None or conversation == "" else str(conversation)


def _read_documents(file: Path) -> tuple[tuple[Document, ...], int]:
    documents: dict[str, Document] = {}
    turns: dict[str, int] = {}
    repeated = 0
    for number, record in _records(file):
        identity = _identity(file, number, record)
        if identity in documents:
            repeated += 1
            continue
        metadata, thread = _metadata(record)
        seq = None
        if thread is not None:
            seq = turns[thread] = turns.get(thread, 0) + 1
        text, title = (str(record.get(name) or "") for name in ("text", "title"))
        documents[identity] = Document(identity, text, title, thread, seq, metadata)
    if not documents:
        raise Unreadable(f"{file} holds no document", hint=_SHAPE)
    return tuple(documents.values()), repeated


def _read_questions(file: Path) -> tuple[Question, ...]:
    questions: dict[str, Question] = {}
    for number, record in _records(file):
        identity = _identity(file, number, record)
        if not isinstance(record.get("text"), str):
            raise _broken(file, number, 'has no "text"')
        metadata, thread = _metadata(record)
        questions.setdefault(identity, Question(identity, record["text"], thread, metadata))
    return tuple(questions.values())


def _read_judgements(file: Path) -> dict[str, dict[str, float]]:
    """Query, document and grade, or the four columns of TREC; a first line without a grade is a header and skipped."""
    judgements: dict[str, dict[str, float]] = {}
    with file.open(encoding="utf-8-sig", errors="strict", newline=None) as stream:
        try:
            for number, line in enumerate(stream, start=1):
                if not line.strip():
                    continue
                columns = line.rstrip("\n").split("\t") if "\t" in line else line.split()
                try:
                    query, document, grade = _judgement(columns)
                except ValueError:
                    if number == 1:
                        continue
                    raise _broken(file, number, "is not 'query-id <tab> corpus-id <tab> grade'") from None
                judgements.setdefault(query, {})[document] = grade
        except UnicodeDecodeError:
            raise Unreadable(f"{file} is not UTF-8", hint="Save it as UTF-8.") from None
    return judgements


def _judgement(columns: Sequence[str]) -> tuple[str, str, float]:
    query, document, text = (columns[0], *columns[2:]) if len(columns) == 4 else columns
    grade = float(text)
    if not math.isfinite(grade):
        raise ValueError(text)
    return query.strip(), document.strip(), grade


def _checked(
    judgements: Mapping[str, Mapping[str, float]],
    documents: Sequence[Document],
    questions: Sequence[Question],
) -> tuple[dict[str, dict[str, float]], list[str]]:
    """Judgements of known queries with a relevant document, and notes on ids that the set does not have.

    A relevant document that is not in the corpus still counts in the ideal ranking, as in trec_eval; otherwise an
    incomplete corpus would look easier than it is.
    """
    known_documents = {document.id for document in documents}
    known_questions = {question.id for question in questions}
    strange_queries = len(judgements.keys() - known_questions)
    strange_documents = {
        document for grades in judgements.values() for document in grades if document not in known_documents
    }
    kept = {
        query: dict(grades)
        for query, grades in judgements.items()
        if query in known_questions
        and any(grade > 0 and document in known_documents for document, grade in grades.items())
    }
    notes = []
    if strange_queries:
        notes.append(f"qrels.tsv judges {strange_queries} queries that queries.jsonl does not have")
    if strange_documents:
        notes.append(f"qrels.tsv names {len(strange_documents)} documents that corpus.jsonl does not have")
    return kept, notes
