"""Streams that nobody reads any more, as behind `| head`, and those that take nothing, as on a full disk."""

from __future__ import annotations

import os
import select
import sys
from typing import IO

__all__ = ["hush", "mute"]


def hush() -> bool:
    """Whether standard output or standard error had a reader who has gone; what is left for him goes nowhere."""
    gone = [stream for stream in (sys.stdout, sys.stderr) if _is_broken(stream.fileno())]
    for stream in gone:
        mute(stream)
    return bool(gone)


def mute(stream: IO[str]) -> None:
    """Send what is left for a stream, and all that follows, nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _is_broken(number: int) -> bool:
    """Whether nobody holds the other end of a pipe; yes, where the system cannot be asked."""
    if not hasattr(select, "poll"):
        return True
    asked = select.poll()
    asked.register(number, 0)  # no event but those that say that it is broken
    return bool(asked.poll(0))
