"""Running a verb: exit statuses, errors for people and for programs, progress on long work."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, NoReturn

from segjudge.errors import SegjudgeError, SubmissionError, UsageError
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["INTERRUPTED", "Output", "fail", "finish", "say", "unread", "whoever_reads"]

INTERRUPTED = 130
_INTERNAL = 3
_BETWEEN = 0.1  # seconds between two pictures of a bar


@dataclass(frozen=True, slots=True, eq=False)
class Output:
    """Where a verb's words go: one JSON object to standard output, or lines for people."""

    as_json: bool
    quiet: bool = False

    def object(self, value: dict[str, Any]) -> None:
        """The one JSON object."""
        sys.stdout.write(json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n")

    def line(self, text: str = "") -> None:
        """A line of the result, for people."""
        if not self.as_json:
            sys.stdout.write(text + "\n")

    def aside(self, text: str) -> None:
        """A line beside the result, for people."""
        if not self.quiet:
            sys.stderr.write(text + "\n")

    @property
    def live(self) -> bool:
        """Whether someone looks on who would like to see progress."""
        return not self.quiet and sys.stderr.isatty()

    @contextmanager
    def progress(self, title: str) -> Iterator[Callable[[int, int], None] | None]:
        """A bar on standard error while long work goes on; None where nobody looks on."""
        with self.bar(title) as bar:
            yield None if bar is None else lambda done, total: bar(done, total, "")

    @contextmanager
    def bar(self, title: str) -> Iterator[Callable[[int, int | None, str], None] | None]:
        """A bar that also says something about the work, such as a loss; None where nobody looks on."""
        if not self.live:
            yield None
            return
        from rich.console import Console  # noqa: PLC0415 - drawn only when someone looks on
        from rich.progress import Progress  # noqa: PLC0415

        console = Console(stderr=True, no_color="NO_COLOR" in os.environ)
        # Drawn by who works: a thread that draws would be one too many for a process that may have doubles.
        with Progress(console=console, transient=True, auto_refresh=False) as bar:
            task, drawn = bar.add_task(title, total=None), 0.0

            def told(done: int, total: int | None, words: str) -> None:
                nonlocal drawn
                bar.update(task, completed=done, total=total, description=f"{title} {words}".rstrip())
                if time.monotonic() - drawn > _BETWEEN:
                    bar.refresh()
                    drawn = time.monotonic()

            yield told


def finish(status: int) -> NoReturn:
    """Leave with a status, whether or not somebody still reads what was written.

    Where it cannot be written, as to a full disk, people are told, and the status is that of a wrong command.
    """
    try:
        sys.stdout.flush()
    except OSError as error:
        from segjudge.cli.failing import refused  # noqa: PLC0415 - for the unlucky
        from segjudge.cli.hushing import hush, mute  # noqa: PLC0415

        if not (isinstance(error, BrokenPipeError) and hush()):
            mute(sys.stdout)
            say(refused(error))
            status = UsageError.exit_status
    raise SystemExit(status)


def fail(error: SegjudgeError, output: Output) -> NoReturn:
    """Say what went wrong, and leave with its status."""
    with whoever_reads(sys.stdout):
        if output.as_json and not isinstance(error, SubmissionError):
            told = {"kind": error.kind, "message": error.message, "advice": error.advice}
            output.object({"error": told})
        sys.stdout.flush()
    say(str(error))
    finish(error.exit_status)


def say(words: str) -> None:
    """Write a last word to standard error, whether or not somebody reads it."""
    with whoever_reads(sys.stderr):
        sys.stderr.write(f"segjudge: {words}\n")


@contextmanager
def whoever_reads(stream: IO[str]) -> Iterator[None]:
    """Last words that go nowhere if their reader has gone or the disk is full: the status says it, too."""
    try:
        yield
    except OSError as error:
        from segjudge.cli.hushing import hush, mute  # noqa: PLC0415 - behind `| head`

        if not (isinstance(error, BrokenPipeError) and hush()):
            mute(stream)


@contextmanager
def unread() -> Iterator[None]:
    """Leave well and in silence once nobody reads the output any more, as behind `| head`.

    Any other pipe that breaks, such as one to write to, raises UsageError.
    """
    try:
        yield
    except BrokenPipeError as error:
        from segjudge.cli.failing import refused  # noqa: PLC0415 - for the unlucky
        from segjudge.cli.hushing import hush  # noqa: PLC0415

        if not hush():
            raise UsageError(refused(error)) from error
        raise SystemExit(0) from None
