"""What can be wrong with an archive or a member, each as the code, message and advice of a finding."""

from __future__ import annotations

import lzma
import struct
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

from segjudge.formats.archive.names import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "BROKEN",
    "MAX_MEMBERS",
    "ZIP_AGAIN",
    "MemberFault",
    "broken",
    "faults_of",
    "too_large",
    "too_many",
]

#: More members than this are refused: no competition needs them, and each takes memory.
MAX_MEMBERS = 1_000_000

#: Advice for an archive that cannot be used as it is.
ZIP_AGAIN = "Make the archive again, as an ordinary zip."

#: Whatever damaged bytes may raise.
BROKEN = (EOFError, OSError, ValueError, OverflowError, struct.error, zlib.error, lzma.LZMAError)


class MemberFault(Exception):  # noqa: N818 - a participant's fault, which callers turn into a finding
    """A member (or the whole archive) cannot be used: `code`, `message` and `advice` of a finding."""

    def __init__(self, code: str, message: str, advice: str = "") -> None:
        super().__init__(code, message, advice)
        self.code = code
        self.message = message
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.code}: {self.message} {self.advice}".rstrip()


def broken(message: str, advice: str = ZIP_AGAIN) -> MemberFault:
    """A `bad-archive` fault."""
    return MemberFault("bad-archive", message, advice)


def too_large(what: str, bound: int) -> MemberFault:
    """The fault of members that have more bytes than `max_unpacked`."""
    return MemberFault(
        "too-large-unpacked",
        f"{what} more than the limit of {bound:,} bytes.",
        "Leave out what is not asked for; if all of it is meant, raise the limit: --set max_unpacked=BYTES.",
    )


def too_many() -> MemberFault:
    """The fault of an archive with more than `MAX_MEMBERS` members."""
    return MemberFault(
        "too-large-unpacked",
        f"There are more than {MAX_MEMBERS:,} members.",
        "Leave out the files that are not asked for.",
    )


@contextmanager
def faults_of(name: str) -> Iterator[None]:
    """Nothing; whatever damaged bytes raise inside becomes a `MemberFault` that names the member."""
    try:
        yield
    except BROKEN as error:
        reason = str(error).rstrip(".") or "it ends too early"
        raise broken(f"{shown(name)} cannot be unpacked: {reason}.") from error
    except MemoryError as error:
        raise MemberFault(
            "too-large-unpacked", f"{shown(name)} does not fit into memory.", ZIP_AGAIN
        ) from error
