"""The command `segjudge`, which `python -m segjudge` is, too."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # typing would take long enough to be interrupted

if TYPE_CHECKING:
    from typing import NoReturn

__all__ = ["program"]


def program() -> NoReturn:
    """The process's one work: who ends it while it still loads sees a sentence, as at any other time."""
    _open_streams()
    ahead = None
    try:
        from segjudge.head_start import foreseen  # noqa: PLC0415 - takes a while, too

        ahead = foreseen(sys.argv[1:])

        from segjudge.cli import program as run  # noqa: PLC0415 - takes much longer

        run(ahead)
    except KeyboardInterrupt:
        if ahead is not None:
            ahead.close()
        sys.stderr.write("segjudge: interrupted.\n")
        raise SystemExit(130) from None


def _open_streams() -> None:
    """Put the null device where the process was started without a standard stream.

    The first files that are opened would else have the numbers of streams, which are not theirs alone: a
    double gives its streams away.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115, PTH123 - for all of the process's life


if __name__ == "__main__":
    program()
