"""The fingerprint of a submission or a truth, by which a verdict says what it was made from."""

from __future__ import annotations

import hashlib
from pathlib import Path

from segjudge.formats.archive.folder import walk

__all__ = ["digest"]


def digest(path: str | Path) -> str:
    """SHA-256 in hexadecimal: of a file its bytes, of a folder its lines `relative/path filehash`.

    The lines are sorted by path, end in a line feed and are hashed as UTF-8. Links are not followed.
    """
    place = Path(path)
    if not place.is_dir():
        with place.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    files = sorted((entry.raw, entry.key) for entry in walk(place) if entry.kind == "file")
    total = hashlib.sha256()
    for name, where in files:
        total.update(f"{name} {digest(where)}\n".encode("utf-8", "surrogateescape"))
    return total.hexdigest()
