"""Finds the files to add in folders on disk, and makes their refs.

A walk lists files and says why it skipped others. It opens only ignore files (``.gitignore``, ``.ricordoignore``,
``.git/info/exclude``; as in Git, the nearest one with a matching pattern decides), changes nothing, and one bad entry
never stops it.

A mailbox is a file in the mbox format, which holds one mail after another. Each mail counts as a file, called
by its Message-ID, so that its ref stays the same while other mails come and go.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePath, PureWindowsPath
from typing import IO, TYPE_CHECKING

from ricordo.config.files import current_folder
from ricordo.digests import hash_of
from ricordo.errors import UsageError
from ricordo.frozen import frozen
from ricordo.nofollow import open_below, real_path
from ricordo.patterns import late
from ricordo.values.items import PLAIN, FileRefs, Ref

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILES = (".gitignore", ".ricordoignore")
_LARGEST_FILE = 1_000_000
_ANYWHERE = "^(?:.+/)?"
"""How pathspec begins what may stand in any folder; without it, a name is matched ten times as fast."""


@frozen
class Rules:
    """The patterns of one ignore file, and the folder (with a trailing separator) they are relative to."""

    folder: str
    spec: GitIgnoreSpec
    any_name: re.Pattern[str]
    any_path: re.Pattern[str] | None

    def opinion(self, path: str, *, is_folder: bool) -> bool | None:
        """True if the path is ignored, False if it is kept, None if no pattern matches.

        The folders above are known to be kept, so a pattern without a slash needs the name only. Most files match
        nothing. One combined expression finds that out quickly; trying each pattern would be slow.
        """
        end = "/" if is_folder else ""
        if self.any_path is None and not self.any_name.match(path[path.rfind(os.sep) + 1 :] + end):
            return None
        relative = path[len(self.folder) :].replace(os.sep, "/") + end
        if self.any_path is not None and not (
            self.any_path.match(relative) or self.any_name.match(relative[relative.rfind("/", 0, -1) + 1 :])
        ):
            return None
        return self.spec.check_file(relative).include


def opinion(path: str, rules: Sequence[Rules], *, is_folder: bool) -> bool | None:
    """True if the rules, the nearest last, ignore this path; False if they keep it; None if they do not mention it."""
    for rule in reversed(rules):
        said = rule.opinion(path, is_folder=is_folder)
        if said is not None:
            return said
    return None


def rules_in(folder: str, names: Iterable[str]) -> list[Rules]:
    """The rules of the ignore files in a folder, given the names in it."""
    present = set(names)
    found = [_read(folder, Path(folder, name)) for name in IGNORE_FILES if name in present]
    return [rules for rules in found if rules is not None]


def rules_above(root: str) -> list[Rules]:
    """The rules of the folders above, up to the one that holds ``.git``; none without a repository.

    A folder that the user named is added even if a folder above ignores it, so such rules are left out.
    """
    found: list[list[Rules]] = []
    for folder in (Path(root), *Path(root).parents):
        is_top = (folder / ".git").exists()
        if str(folder) != root:
            found.append(rules_in(str(folder), [name for name in IGNORE_FILES if (folder / name).is_file()]))
        if is_top:
            exclude = _read(str(folder), folder / ".git" / "info" / "exclude")
            found.append([exclude] if exclude else [])
            rules = [rule for group in reversed(found) for rule in group]
            return [] if _covers(rules, root, str(folder)) else rules
    return []


def _covers(rules: Sequence[Rules], root: str, top: str) -> bool:
    """Whether the rules ignore the root, or a folder between it and the top."""
    folder = Path(root)
    while str(folder) != top and folder != folder.parent:
        above = [rule for rule in rules if str(folder).startswith(rule.folder)]
        if opinion(str(folder), above, is_folder=True):
            return True
        folder = folder.parent
    return False


def glob_rules(folder: str, globs: Sequence[str]) -> Rules | None:
    """Globs as rules: what they match is wanted. If all globs exclude something, everything else is wanted."""
    lines = list(globs)
    if lines and all(line.startswith("!") for line in lines):
        lines.insert(0, "*")
    return _rules(folder, lines)


def _read(folder: str, path: Path) -> Rules | None:
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST_FILE:
            return None
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return None
    return _rules(folder, text.splitlines())


def _rules(folder: str, lines: Iterable[str]) -> Rules | None:
    from pathspec import GitIgnoreSpec  # only when files are walked: a search names files, too

    wanted = [line for line in lines if line and _is_valid(line)]
    spec = GitIgnoreSpec.from_lines(wanted)
    names: list[str] = []
    paths: list[str] = []
    for line, pattern in zip(wanted, spec.patterns, strict=True):
        if pattern.regex is not None and "/" in line.strip().removeprefix("!").removeprefix("**/").rstrip("/"):
            paths.append(pattern.regex.pattern)
        elif pattern.regex is not None:
            names.append(pattern.regex.pattern.removeprefix(_ANYWHERE))
    if not names and not paths:
        return None
    any_path = _any_of(paths) if paths else None
    return Rules(folder.rstrip(os.sep) + os.sep, spec, _any_of(names), any_path)


def _any_of(regexes: Sequence[str]) -> re.Pattern[str]:
    unnamed = [re.sub(r"[(][?]P<[^>]*>", "(?:", regex) for regex in regexes]
    return re.compile("|".join(f"(?:{regex})" for regex in unnamed) or r"(?!)")


def _is_valid(line: str) -> bool:
    """Whether Git would take the line for a pattern; it skips the others, and so do we."""
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error):
        return False
    return True


_GLOB_SIGNS = frozenset("*?[")
_WINDOWS_DRIVE = late(r"/[A-Za-z]:(?:/|\Z)")
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR})
_HARMLESS = _GONE | {errno.ELOOP}
# Files that editors leave beside a file that is or was edited: backups, autosaves, owner files.
_LEFT_BY_EDITORS = late(r"(?:.*~|#.*#|~\$.*|.*\.sw[opx]|.*___jb_(?:tmp|old)___)", re.DOTALL)


UNWANTED = "left out by the setting ingest.ignore"
NOWHERE = "a link to a file that does not exist"


@frozen
class Span:
    """Where a mail stands in its mailbox: from which byte to which."""

    box: Path
    start: int
    end: int


@frozen
class FoundFile:
    """A file to add, with its size and time when it was listed. A mail in a mailbox is one, too."""

    path: Path
    size: int
    mtime_ns: int
    span: Span | None = None
    within: Path | None = None
    """The folder that links must not lead out of when the file is read; None when they are followed."""
    is_link: bool = False


@frozen
class Skipped:
    """A skipped entry and the reason; ``failed`` if the user would expect its content in the store."""

    path: Path
    reason: str
    failed: bool = False


def walk(
    root: Path,
    *,
    max_bytes: int,
    globs: Sequence[str] = (),
    follow_symlinks: bool = False,
    only: Collection[Path] | None = None,
    ignore: Sequence[str] = (),
) -> Iterator[FoundFile | Skipped]:
    """The files under a folder in the order of their names, lazily; or the one file that ``root`` is.

    Hidden entries and those that an ignore file names are left out silently, but the root itself is always taken. Links
    that lead out of the root are followed only with ``follow_symlinks``: whoever made the folder may have put them
    there. ``globs`` (``*.md``, ``docs/**``, ``!*.min.js``) restrict the files. With ``only``, the walk visits these
    paths and what is below them, by the same rules, and looks nowhere else. ``ignore`` has patterns of entries to leave
    out unless an ignore file mentions them; these are reported.
    """
    start = absolute(root)
    try:
        status = Path(start).stat()
    except OSError as error:
        yield Skipped(printable(start), _reason(error), failed=True)
        return
    if stat.S_ISDIR(status.st_mode):
        yield from _Walk(start, status, max_bytes, globs, follow=follow_symlinks, only=only, ignore=ignore).run()
    elif stat.S_ISREG(status.st_mode):
        yield _judged(start, status, max_bytes)
    else:
        yield Skipped(printable(start), _what(status.st_mode), failed=True)


def expand(source: str, refs: FileRefs = PLAIN) -> list[Path]:
    """The absolute paths that a source names: the path itself if it exists, else all that match it as a glob.

    A relative one is meant as seen from the caller's folder. ``disk:/path`` names that path. Globs are for shells that
    do not expand ``docs/**/*.md`` themselves; ``**`` respects ignore files and does not follow loops.
    """
    path = Path(_absolute_name(source))
    if os.path.lexists(path):
        return [path]
    if source.startswith("disk:/"):
        return expand(str(ref_path(Ref.parse(source), refs)))
    if not _GLOB_SIGNS & set(source):
        return []
    if "**" not in path.parts:
        import glob

        return [Path(name) for name in sorted(glob.glob(str(path)))]  # noqa: PTH207 - it may be absolute
    fixed = next(place for place, part in enumerate(path.parts) if _GLOB_SIGNS & set(part))
    base, pattern = Path(*path.parts[:fixed]), "/".join(path.parts[fixed:])
    entries = walk(base, max_bytes=2**62, globs=[f"/{pattern}"])
    return [entry.path for entry in entries if isinstance(entry, FoundFile)]


def near_paths(name: str) -> list[str]:
    """Names of files and folders that are spelled much like one that does not exist, in the last folder that does."""
    from difflib import get_close_matches

    path = Path(_absolute_name(name))
    tops = ((place, os.path.join(*path.parts[: place + 1])) for place in range(len(path.parts)))  # noqa: PTH118
    missing = next((place for place, top in tops if not os.path.exists(top)), None)  # noqa: PTH110 - bears any text
    if missing is None:
        return []
    folder = Path(*path.parts[:missing])
    try:
        beside = [entry.name for entry in folder.iterdir()]
    except OSError:
        return []
    found = [folder / near for near in get_close_matches(path.parts[missing], beside, 3, 0.7)]
    here = current_folder().absolute()
    return [str(near.relative_to(here) if near.is_relative_to(here) else near) for near in found]


def under_glob(path: str) -> tuple[str, Callable[[str], bool]] | None:
    """The folder that a glob looks in, and a function that says which paths it matches; None for a path that is no
    glob.
    """
    parts = path.split("/")
    fixed = next((place for place, part in enumerate(parts) if _GLOB_SIGNS & set(part)), None)
    if fixed is None:
        return None
    rules = glob_rules("/", [path])
    return "/".join(parts[:fixed]) or "/", lambda one: bool(rules is not None and rules.opinion(one, is_folder=False))


def disk_ref(path: PurePath, refs: FileRefs = PLAIN) -> Ref:
    """The ref of a file of this machine: its absolute path, as the refs of a store say it.

    >>> str(disk_ref(PureWindowsPath("C:/notes/a.md")))
    'disk:/C:/notes/a.md'
    """
    if isinstance(path, PureWindowsPath) and not isinstance(path, Path):
        name = path.as_posix()
    else:
        name = absolute(path).replace(os.sep, "/")
    if not _is_text(name):
        raise UsageError(
            f"the name {printable(name)} is not valid text, so it cannot be a ref",
            hint="Rename the file: its name holds bytes that are not UTF-8.",
        )
    return refs.ref(name if name.startswith("/") else f"/{name}")


def ref_path(ref: Ref, refs: FileRefs = PLAIN) -> Path:
    """The file of this machine that a ``disk`` ref names."""
    if ref.drive != "disk":
        raise UsageError(f"{ref} is not a file on disk", hint="Only refs of the form disk:/path name files.")
    place = refs.place(ref)
    return Path(place[1:] if os.name == "nt" and _WINDOWS_DRIVE.match(place) else place)


def bytes_like(path: Path, digest: str) -> bytes | None:
    """The bytes of a file if they have this SHA-256; None if they do not, or cannot be read."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    return data if hash_of(data) == digest else None


class _Walk:
    """One walk: the folders it has visited, and what it leaves out."""

    def __init__(
        self,
        root: str,
        status: os.stat_result,
        max_bytes: int,
        globs: Sequence[str],
        *,
        follow: bool,
        only: Collection[Path] | None,
        ignore: Sequence[str] = (),
    ) -> None:
        self.root = root
        self.unwanted = glob_rules(root, ignore)
        self.real_root = real_path(root)
        self.max_bytes = max_bytes
        self.wanted = glob_rules(root, globs)
        self.follow = follow
        self.been = {(status.st_dev, status.st_ino)}
        self.targets = {absolute(path) for path in only} if only is not None else {root}
        self.ways = {str(parent) for target in self.targets for parent in Path(target).parents}

    def run(self) -> Iterator[FoundFile | Skipped]:
        # Folders are kept on a stack, because a tree may be deeper than Python's recursion allows.
        stack = [self._folder(self.root, rules_above(self.root))]
        while stack:
            answer = next(stack[-1], None)
            if answer is None:
                stack.pop()
            elif isinstance(answer, tuple):
                stack.append(self._folder(*answer))
            else:
                yield answer

    def _folder(self, folder: str, rules: list[Rules]) -> Iterator[FoundFile | Skipped | tuple[str, list[Rules]]]:
        """The entries of a folder, by name; a tuple asks to continue with a folder below."""
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            yield Skipped(printable(folder), _reason(error), failed=error.errno not in _HARMLESS)
            return
        rules = rules + rules_in(folder, (entry.name for entry in entries))
        everything = folder in self.targets
        for entry in entries:
            if entry.name.startswith(".") or not (everything or self._leads_on(entry.path)):
                continue
            try:
                answer = self._entry(entry, rules)
            except OSError as error:
                answer = Skipped(printable(entry.path), _reason(error), failed=error.errno not in _HARMLESS)
            if everything and isinstance(answer, tuple):
                self.targets.add(answer[0])
            if answer is not None:
                yield answer

    def _is_unwanted(self, path: str, *, is_folder: bool) -> bool:
        """Whether the setting leaves this out; files that globs ask for are taken in."""
        if self.unwanted is None or (self.wanted is not None and not is_folder):
            return False
        return bool(self.unwanted.opinion(path, is_folder=is_folder))

    def _leads_on(self, path: str) -> bool:
        return path in self.targets or path in self.ways

    def _entry(
        self, entry: os.DirEntry[str], rules: list[Rules]
    ) -> FoundFile | Skipped | tuple[str, list[Rules]] | None:
        is_link = entry.is_symlink()
        is_folder = entry.is_dir()
        said = opinion(entry.path, rules, is_folder=is_folder)
        if said:
            return None
        if said is None and self._is_unwanted(entry.path, is_folder=is_folder):
            return Skipped(Path(entry.path), UNWANTED)
        if not _is_text(entry.name):
            return Skipped(printable(entry.path), "its name is not valid UTF-8: rename it", failed=True)
        if is_link and not self.follow and not _is_within(real_path(entry.path), self.real_root):
            leads_out = "a link that leads out of the folder (follow_links or ingest.follow_symlinks takes it in)"
            return Skipped(Path(entry.path), leads_out if Path(entry.path).exists() else NOWHERE)
        if is_folder:
            return self._subfolder(entry, rules, is_link=is_link)
        if self.wanted is not None and not self.wanted.opinion(entry.path, is_folder=False):
            return None
        if _LEFT_BY_EDITORS.fullmatch(entry.name):
            return Skipped(Path(entry.path), "left behind by an editor")
        try:
            status = entry.stat()
        except OSError as error:
            if is_link and error.errno in _GONE:
                return Skipped(Path(entry.path), NOWHERE)
            raise
        found = _judged(entry.path, status, self.max_bytes, None if self.follow else Path(self.real_root))
        return replace(found, is_link=True) if is_link and isinstance(found, FoundFile) else found

    def _subfolder(
        self, entry: os.DirEntry[str], rules: list[Rules], *, is_link: bool
    ) -> Skipped | tuple[str, list[Rules]]:
        if is_link:
            real = real_path(entry.path)
            if _is_within(real, self.real_root) or _is_within(self.real_root, real):
                return Skipped(Path(entry.path), "a link to a folder of the same tree")
        status = Path(entry.path).stat()
        identity = (status.st_dev, status.st_ino)
        if identity in self.been:
            return Skipped(Path(entry.path), "a folder that was visited under another name")
        self.been.add(identity)
        return entry.path, rules


def _judged(path: str, status: os.stat_result, max_bytes: int, within: Path | None = None) -> FoundFile | Skipped:
    if not _is_text(path):
        return Skipped(printable(path), "its name is not valid UTF-8: rename it", failed=True)
    if not stat.S_ISREG(status.st_mode):
        return Skipped(Path(path), _what(status.st_mode))
    if status.st_size > max_bytes:
        return Skipped(Path(path), over_limit(status.st_size, max_bytes))
    return FoundFile(Path(path), status.st_size, status.st_mtime_ns, within=within)


def over_limit(size: int, max_bytes: int) -> str:
    """Why a file of this size is not read."""
    return f"{size / 1e6:.1f} MB is over the limit of {max_bytes / 1e6:g} MB (ingest.max_file_mb)"


def _what(mode: int) -> str:
    name = "a named pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
    return f"{name}, not a file"


def _reason(error: OSError) -> str:
    if error.errno in _GONE:
        return "it does not exist"
    if error.errno == errno.ELOOP:
        return "a link that leads back to itself"
    return f"cannot be read: {error.strerror or error}"


def absolute(path: PurePath) -> str:
    """The absolute path; symbolic links in it are not resolved."""
    whole = path if path.is_absolute() else current_folder() / path
    return os.path.abspath(whole)  # noqa: PTH100 - resolve() would follow links, and a ref keeps the name given


def _absolute_name(name: str) -> str:
    """The absolute path of what a user typed."""
    return absolute(Path(os.path.expanduser(name)))  # noqa: PTH111 - Path's own fails for a name such as ~$draft.docx


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _is_text(name: str) -> bool:
    """Whether the name is Unicode; bytes that are not UTF-8 reach Python as lone surrogates."""
    return name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name)


def printable(name: str) -> Path:
    """The path with bytes that are not UTF-8 written as escapes, so that it can be shown and stored."""
    if _is_text(name):
        return Path(name)
    return Path(
        name.encode("utf-8", "surrogateescape" if _is_from_bytes(name) else "backslashreplace").decode(
            "utf-8", "backslashreplace"
        )
    )


def _is_from_bytes(name: str) -> bool:
    """Whether the system could have such a name; other lone surrogates come from a program's cut text."""
    return not any("\ud800" <= letter < "\udc80" or "\udcff" < letter <= "\udfff" for letter in name)


_MAILBOX_ENDINGS = ("", ".mbox", ".mbx")
"""How the names of mailboxes end; mail programs leave the ending out."""
_LONGEST_MAIL_NAME = 100
_MAIL_OPENING = re.compile(rb"From [^\r\n]*\d\d:\d\d[^\r\n]*\d{4}[^\r\n]*\r?\n")
"""The line before each mail: who sent it, the time, the year."""
_MAILBOX_BEGINNING = re.compile(_MAIL_OPENING.pattern + rb"[!-9;-~]+:")
_ESCAPED = re.compile(rb"(?m)^>(>*From )")
_MESSAGE_ID = re.compile(rb"(?im)^message-id:[ \t]*(?:\r?\n[ \t]+)?([^\r\n]*)")


def is_mailbox(path: Path) -> bool:
    """Whether a file is a mailbox, by its name and by how it begins."""
    if path.suffix.lower() not in _MAILBOX_ENDINGS:
        return False
    try:
        with path.open("rb") as file:
            return _MAILBOX_BEGINNING.match(file.read(4096)) is not None
    except OSError:
        return False


def mails(box: FoundFile) -> list[FoundFile]:
    """The mails of a mailbox, as files below it."""
    found: dict[str, FoundFile] = {}
    with _opened(box.path, box.within) as file:
        for start, end, called in _mails_in(file):
            name, count = f"{called}.eml", 1
            while name in found:
                count += 1
                name = f"{called}-{count}.eml"
            span = Span(box.path, start, end)
            found[name] = FoundFile(box.path / name, end - start, box.mtime_ns, span, box.within)
    return list(found.values())


def mail_bytes(span: Span, within: Path | None = None) -> bytes:
    """One mail as it was sent: lines that begin with "From" are escaped in a mailbox."""
    with _opened(span.box, within) as file:
        file.seek(span.start)
        return _ESCAPED.sub(rb"\1", file.read(span.end - span.start)).rstrip(b"\r\n") + b"\n"


def _opened(path: Path, within: Path | None) -> IO[bytes]:
    """A mailbox, opened; links that lead out of the folder ``within`` are refused."""
    return path.open("rb") if within is None else os.fdopen(open_below(within, path), "rb")


def _mails_in(file: IO[bytes]) -> Iterator[tuple[int, int, str]]:
    """Where each mail begins and ends, and what it is called."""
    import hashlib

    start, at, head, digest = 0, 0, bytearray(), hashlib.sha256()
    in_head = after_blank = True
    for line in file:
        if after_blank and _MAIL_OPENING.match(line):
            if at > start:
                yield start, at, _mail_name(bytes(head), digest.hexdigest())
            start, head, digest, in_head = at + len(line), bytearray(), hashlib.sha256(), True
        else:
            in_head = in_head and bool(line.strip())
            if in_head:
                head += line
            if line.strip():
                digest.update(line)
        at += len(line)
        after_blank = not line.strip()
    if at > start:
        yield start, at, _mail_name(bytes(head), digest.hexdigest())


def _mail_name(head: bytes | bytearray, digest: str) -> str:
    """What a mail is called: its Message-ID; without one, the beginning of its hash."""
    found = _MESSAGE_ID.search(head)
    said = found.group(1).decode("utf-8", "replace").strip(" \t<>") if found else ""
    return re.sub(r"[^\w@.+=-]+", "-", said).strip("-.")[:_LONGEST_MAIL_NAME] or digest[:16]
