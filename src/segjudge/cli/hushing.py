"""Streams whose reader has gone, as behind `| head`."""

from __future__ import annotations

import os
import select
import sys

__all__ = ["hush"]


def hush() -> bool:
    """Whether standard output or standard error had a reader who has gone; what is left for him goes nowhere."""
    gone = [stream.fileno() for stream in (sys.stdout, sys.stderr) if _is_broken(stream.fileno())]
    for number in gone:
        os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    return bool(gone)


def _is_broken(number: int) -> bool:
    """Whether nobody holds the other end of a pipe; yes, where the system cannot be asked."""
    if not hasattr(select, "poll"):
        return True
    asked = select.poll()
    asked.register(number, 0)  # no event but those that say that it is broken
    return bool(asked.poll(0))
