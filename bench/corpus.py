"""Real text for benchmarks: a folder of documents becomes sections of about 700 characters, and questions.

``--corpus`` may be any folder with text files; documentation trees work best. To reach a size that the folder
does not have, documents are repeated *with variation*, so that copies neither compress nor rank alike: a
copy's sentences are shuffled within each paragraph, and one word in eight is replaced by a word drawn from
the corpus by frequency, which keeps the distribution of words as it was. Everything is seeded: the same
folder and size give the same text. Nothing here touches an index.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

SECTION_CHARACTERS = 700
_FULL = 900  # filling up to here gives 700 on average
SUFFIXES = (".md", ".markdown", ".rst", ".txt", ".adoc", ".org")
_WORD = re.compile(r"[A-Za-z][A-Za-z]+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_MARKDOWN_HEADING = re.compile(r"^#{1,6} +(.+?)(?: *\{[^}]*\})? *#*$", re.MULTILINE)
_UNDERLINED_HEADING = re.compile(r"^(\S.*)\n[=\-~^]{3,}$", re.MULTILINE)

QUESTIONS = (
    "How do I install this on a machine without network access?",
    "What is the difference between a label and an annotation?",
    "How can I limit the memory that a process may use?",
    "Why does the connection time out after a few seconds?",
    "Which versions are supported and for how long?",
    "How are default values chosen when nothing is configured?",
    "What happens when a node fails while writing data?",
    "How do I roll back to an earlier version after a failed update?",
    "Where are log files stored and how long are they kept?",
    "Can I run several instances on the same host?",
    "How do I pass secrets to an application without storing them in an image?",
    "What does the error permission denied mean and how do I fix it?",
    "How do I write a test for a function that raises an exception?",
    "What is the recommended way to declare the type of a variable?",
    "How does garbage collection decide what to delete?",
    "How do I expose a service outside of the cluster?",
    "What are the security implications of running as root?",
    "How do I iterate over the keys and values of a mapping?",
    "When should I use an asynchronous function instead of a thread?",
    "How is backward compatibility guaranteed between releases?",
    "What is the syntax for importing a module relative to the current package?",
    "How do I schedule a job that runs every night?",
    "Why was this proposal rejected and what were the alternatives?",
    "How can I monitor resource usage and set up alerts?",
    "What is the order in which configuration files are read?",
    "How do I contribute a change and get it reviewed?",
    "How do I validate input before an object is created?",
    "Which characters are allowed in the name of an object?",
    "How do I migrate from the old interface to the new one?",
    "What guarantees exist about the order of events?",
)
TEMPLATES = (
    "How does {} work?",
    "What is {}?",
    "Where is {} described?",
    "Can you explain {} with an example?",
    "When should I use {} and what are its limits?",
)


@dataclass(frozen=True, slots=True)
class Section:
    """About 700 characters of a document, under the heading it stands below."""

    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """One file of the corpus, cut into sections."""

    path: str
    title: str
    description: str
    tags: tuple[str, ...]
    sections: tuple[Section, ...]

    @property
    def text(self) -> str:
        """The whole text: sections one after the other."""
        return "\n\n".join(section.text for section in self.sections)


def add_corpus_options(parser: argparse.ArgumentParser) -> None:
    """The options that every benchmark over real text shares."""
    parser.add_argument("--corpus", type=Path, required=True, metavar="DIR", help="a folder of text files")
    parser.add_argument(
        "--questions", type=Path, metavar="FILE", help="one question a line, instead of the built-in ones"
    )
    parser.add_argument("--queries", type=int, default=60, metavar="N", help="how many questions to ask (60)")
    parser.add_argument("--seed", type=int, default=1, help="for variation and choice of questions (1)")


def read_corpus(folder: Path) -> list[SourceDocument]:
    """Every text file under the folder, in the order of their paths."""
    if not folder.is_dir():
        raise SystemExit(f"there is no folder '{folder}'")
    files = sorted(file for file in folder.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())
    documents = [_document(file, folder) for file in files]
    documents = [document for document in documents if document.sections]
    if not documents:
        raise SystemExit(f"'{folder}' holds no text file ({', '.join(SUFFIXES)})")
    return documents


def _document(file: Path, folder: Path) -> SourceDocument:
    text = file.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n")
    front: dict[str, str] = {}
    if found := _FRONT_MATTER.match(text):
        pairs = (line.partition(":") for line in found[1].splitlines() if not line.startswith((" ", "-")))
        front = {name.strip(): value.strip().strip("\"'") for name, _, value in pairs}
        text = text[found.end() :]
    headings = _headings(text)
    relative = file.relative_to(folder)
    return SourceDocument(
        path="/" + relative.as_posix(),
        title=front.get("title") or (headings[0][1] if headings else file.stem.replace("-", " ")),
        description=front.get("description", ""),
        tags=tuple(part for part in relative.parts[:-1][-2:] if part != "files"),
        sections=tuple(_sections(text, headings)),
    )


def _headings(text: str) -> list[tuple[int, str]]:
    found = [(match.start(), match[1].strip()) for match in _MARKDOWN_HEADING.finditer(text)]
    found += [(match.start(), match[1].strip()) for match in _UNDERLINED_HEADING.finditer(text)]
    return sorted(found)


def _sections(text: str, headings: Sequence[tuple[int, str]]) -> Iterator[Section]:
    """Fill sections paragraph by paragraph; each is named by the last heading above or at its start."""
    starts = [0, *(start for start, _ in headings if start > 0), len(text)]
    names = dict(headings)
    heading = held = ""
    for start, end in pairwise(starts):
        for place, paragraph in enumerate(_pieces(text[start:end])):
            if held and len(held) + len(paragraph) > _FULL:
                yield Section(heading, held)
                held = ""
            if not held or place == 0:
                heading = names.get(start, heading)
            held = f"{held}\n\n{paragraph}" if held else paragraph
    if len(held) > 40:
        yield Section(heading, held)


def _pieces(text: str) -> Iterator[str]:
    """Paragraphs; one that would overfill a section is cut between words."""
    for paragraph in re.split(r"\n\s*\n", text):
        rest = paragraph.strip("\n")
        while len(rest) > _FULL:
            cut = max(rest.rfind(" ", 0, SECTION_CHARACTERS), rest.rfind("\n", 0, SECTION_CHARACTERS))
            cut = cut if cut > 0 else SECTION_CHARACTERS
            yield rest[:cut]
            rest = rest[cut:].lstrip()
        if rest.strip():
            yield rest


def documents_with(documents: Sequence[SourceDocument], sections: int, *, seed: int = 1) -> Iterator[SourceDocument]:
    """Documents until they hold this many sections: the corpus itself, then varied copies of it."""
    vocabulary = [word for document in documents[::7] for word in _WORD.findall(document.text)]
    left = sections
    copy = 0
    while left > 0:
        for number, document in enumerate(documents):
            if left <= 0:
                return
            made = document if copy == 0 else _varied(document, vocabulary, copy, f"{seed}:{copy}:{number}")
            if len(made.sections) > left:
                made = replace(made, sections=made.sections[:left])
            left -= len(made.sections)
            yield made
        copy += 1


def _varied(document: SourceDocument, vocabulary: Sequence[str], copy: int, seed: str) -> SourceDocument:
    chance = random.Random(seed)
    stem, dot, suffix = document.path.rpartition(".")
    return replace(
        document,
        path=f"/copy{copy}{stem}{dot}{suffix}",
        title=_other_words(document.title, vocabulary, chance),
        sections=tuple(
            Section(section.heading, _other_words(_shuffled(section.text, chance), vocabulary, chance))
            for section in document.sections
        ),
    )


def _shuffled(text: str, chance: random.Random) -> str:
    paragraphs = []
    for paragraph in text.split("\n\n"):
        sentences = _SENTENCE_END.split(paragraph)
        chance.shuffle(sentences)
        paragraphs.append(" ".join(sentences))
    return "\n\n".join(paragraphs)


def _other_words(text: str, vocabulary: Sequence[str], chance: random.Random) -> str:
    draw, size = chance.random, len(vocabulary)
    return _WORD.sub(lambda word: vocabulary[int(draw() * size)] if draw() < 0.125 else word[0], text)


def questions_for(
    documents: Sequence[SourceDocument], count: int, *, file: Path | None = None, seed: int = 1
) -> list[str]:
    """Questions as people ask them: a file's, or half general and half made from the corpus' headings."""
    if file is not None:
        lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
        return [line for line in lines if line][:count]
    chance = random.Random(seed)
    headings = sorted(
        {
            section.heading
            for document in documents
            for section in document.sections
            if 2 <= len(_WORD.findall(section.heading)) <= 6
            and section.heading.isascii()
            and "{" not in section.heading
        }
    )
    general = list(QUESTIONS)
    chance.shuffle(general)
    chosen = general[: count // 2] if headings else general[:count]
    picked = chance.sample(headings, min(len(headings), count - len(chosen)))
    made = [
        TEMPLATES[place % len(TEMPLATES)].format(" ".join(_WORD.findall(heading)).lower())
        for place, heading in enumerate(picked)
    ]
    return chosen + made


def main() -> None:
    """Show what a folder gives: ``python bench/corpus.py --corpus DIR``."""
    parser = argparse.ArgumentParser(description="What a folder gives as a benchmark corpus.")
    add_corpus_options(parser)
    options = parser.parse_args()
    documents = read_corpus(options.corpus)
    lengths = [len(section.text) for document in documents for section in document.sections]
    average = sum(lengths) / len(lengths)
    print(f"{len(documents)} documents, {len(lengths)} sections of {average:.0f} characters on average")
    for question in questions_for(documents, options.queries, file=options.questions, seed=options.seed):
        print(" ", question)


if __name__ == "__main__":
    main()
