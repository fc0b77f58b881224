"""What lies at a path, by its first bytes, opened as a tree."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from segjudge.errors import UsageError
from segjudge.findings import Where
from segjudge.formats.archive.faults import MemberFault, broken
from segjudge.formats.archive.folder import Folder
from segjudge.formats.archive.tar import Tar, is_header
from segjudge.formats.archive.unpacking import stream_decoder
from segjudge.formats.archive.zip import Zip

if TYPE_CHECKING:
    from segjudge.findings import Collector
    from segjudge.formats.archive.members import Opened, Tree

__all__ = ["open_tree"]

_OTHER_KINDS = (
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x28\xb5\x2f\xfd", "packed with Zstandard"),
    (b"\x04\x22\x4d\x18", "packed with LZ4"),
    (b"\x1f\x9d", "packed with compress"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"%PDF", "a PDF"),
    (b"<", "a web page or XML"),
)


def open_tree(
    path: str | Path,
    findings: Collector,
    *,
    max_unpacked: int,
    file_label: str,
    strip_top: bool = True,
) -> Tree | None:
    """The folder, zip or tar at `path`, or None after errors were added to `findings`.

    One common top folder is taken off all names unless `strip_top` is False. `max_unpacked` bounds
    the bytes of all members together; of a folder, which is not packed, those of each file.
    A path that does not exist is a `UsageError`.
    """
    before = findings.errors
    tree: Opened[Any] | None = None
    usable = False
    try:
        tree = _kind(Path(path))(Path(path), max_unpacked)
        tree.admit(findings, file_label, strip_top=strip_top)
        usable = findings.errors == before
    except MemberFault as fault:
        findings.add(fault.code, Where(file=file_label), fault.message, fault.advice)
    except FileNotFoundError as error:
        raise UsageError(f"There is no file or folder {str(path)!r}.", "Check the path.") from error
    except OSError as error:
        raise UsageError(
            f"{str(path)!r} cannot be read: {error.strerror}.", "Check its permissions."
        ) from error
    finally:
        if tree is not None and not usable:
            tree.close()
    return tree if usable else None


def _kind(path: Path) -> type[Opened[Any]]:
    """The kind of tree that the first bytes tell; anything else is a `MemberFault`."""
    if path.is_dir():
        return Folder
    if not stat.S_ISREG(path.stat().st_mode):
        raise broken("This is neither a folder nor a file.")
    with path.open("rb") as file:
        start = file.read(512)
    if start.startswith((b"PK\3\4", b"PK\5\6")):
        return Zip
    if stream_decoder(start) or is_header(start):
        return Tar
    if not start:
        raise broken("The file is empty (0 bytes).")
    kind = next((kind for magic, kind in _OTHER_KINDS if start.startswith(magic)), "neither a zip nor a tar")
    raise broken(f"The file is {kind}.", "Put the files into a zip and hand that in.")
