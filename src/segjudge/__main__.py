"""The command `segjudge`, which `python -m segjudge` is, too."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # typing would take long enough to be interrupted

if TYPE_CHECKING:
    from typing import NoReturn

__all__ = ["program"]


def program() -> NoReturn:
    """The process's one work: who ends it while it still loads sees a sentence, as at any other time."""
    try:
        from segjudge.head_start import foreseen  # noqa: PLC0415 - takes a while, too

        ahead = foreseen(sys.argv[1:])

        from segjudge.cli import program as run  # noqa: PLC0415 - takes much longer

        run(ahead)
    except KeyboardInterrupt:
        sys.stderr.write("segjudge: interrupted.\n")
        raise SystemExit(130) from None


if __name__ == "__main__":
    program()
