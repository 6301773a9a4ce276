"""Tells whether a store lies on a file system that is reached over a network.

SQLite's write-ahead log needs memory that all processes share, and locks that work. Over a network, two machines have
neither, and their writes can damage the store. Only Linux and Windows are asked; elsewhere nothing is known.
"""

from __future__ import annotations

import os
from pathlib import Path

from ricordo.patterns import late

MOUNTS = Path("/proc/self/mountinfo")
_REMOTE = late(
    r"nfs\d?|cifs|smb\w*|ncpfs|afs|ceph|glusterfs|lustre|gpfs|beegfs|9p|davfs\d?|fuse\.(?:sshfs|s3fs|rclone|gcsfuse\w*)"
)
_ESCAPED = late(r"\\([0-7]{3})")


def network_kind(path: Path, mounts: Path = MOUNTS) -> str:
    """What kind of network file system a path lies on; empty when it is a local one, or when nobody can tell."""
    real = os.path.realpath(path)
    if real.startswith("\\\\"):
        return "a network drive"
    try:
        lines = mounts.read_text("utf-8", "replace").splitlines()
    except OSError:
        return ""
    best, kind = "", ""
    for line in lines:
        place, _, about = line.partition(" - ")
        point = _ESCAPED.sub(lambda found: chr(int(found[1], 8)), place.split()[4])
        is_above = real == point or real.startswith(point.rstrip("/") + "/")
        if is_above and len(point) >= len(best):
            best, kind = point, about.split()[0] if about else ""
    return kind if _REMOTE.fullmatch(kind) else ""
