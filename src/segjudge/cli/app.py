"""The command: its verbs in the order in which people meet them, and every way out of it."""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import os
import sys
import threading
from typing import TYPE_CHECKING, Any, NoReturn

import click

from segjudge.cli.running import INTERRUPTED, Output, fail, finish, say, unread, whoever_reads
from segjudge.errors import SegjudgeError, UsageError

if TYPE_CHECKING:
    from segjudge.head_start import HeadStart

__all__ = ["app", "main", "program"]

#: The module of each verb, in the order in which people meet them; a run loads that of its own verb alone.
_VERBS = {
    "demo": "making",
    "tasks": "judging",
    "show": "judging",
    "doctor": "judging",
    "check": "judging",
    "check-truth": "judging",
    "score": "judging",
    "sample": "making",
    "encode": "making",
    "decode": "making",
    "convert": "making",
    "make-data": "making",
    "train": "learning",
    "predict": "learning",
    "export": "learning",
}


class _Group(click.Group):
    """The verbs, each loaded when somebody asks for it."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The verb of this name, its module loaded; None where there is none."""
        if cmd_name not in _VERBS:
            return None
        if _VERBS[cmd_name] != "learning":
            # No other verb multiplies matrices; numpy's threads for that take longer to start than all else.
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        module = importlib.import_module(f"segjudge.cli.{_VERBS[cmd_name]}")
        verb: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return verb

    def make_context(self, *args: Any, **options: Any) -> click.Context:  # noqa: ANN401 - click's arguments
        with unread():  # --help and --version
            return super().make_context(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - what a verb returns
        with unread():
            return super().invoke(ctx)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="segjudge", prog_name="segjudge")
def app() -> None:
    """Check and score submissions to image-segmentation competitions, exactly as the leaderboard would.

    TASK is the id of a built-in task (see `segjudge tasks`) or the path of a TOML file.
    """


def program(ahead: HeadStart | None = None) -> NoReturn:
    """The process's one work: `main`, and then out at once.

    Taking numpy and all else down piece by piece would take as long as a small score does; the system
    takes back what is left. What was registered to be done at the end is done.
    """
    gc.set_threshold(100_000)  # a short program makes many objects while it starts, and hardly any garbage
    status: str | int | None = None
    try:
        main(ahead)
        finish(0)
    except SystemExit as leave:
        status = leave.code
    if ahead is not None:
        ahead.close()
    if isinstance(status, str) or threading.active_count() > 1:
        raise SystemExit(status)
    atexit._run_exitfuncs()  # noqa: SLF001 - CPython's own name for it, and there is no other
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status or 0)


def main(ahead: HeadStart | None = None) -> None:
    """The verb that `sys.argv` names: every way out has its status, and no way shows a traceback.

    A score takes over what has begun on its files.
    """
    output = Output(as_json="--json" in sys.argv)
    try:
        app(standalone_mode=False, obj=ahead)
    except click.exceptions.Exit as leave:
        finish(leave.exit_code)
    except click.ClickException as error:
        _misused(error, output)
    except SegjudgeError as error:
        fail(error, output)
    except (click.Abort, KeyboardInterrupt):
        say("interrupted.")
        finish(INTERRUPTED)
    except OSError as error:
        from segjudge.cli.failing import refused  # noqa: PLC0415 - for the unlucky

        fail(UsageError(refused(error)), output)
    except Exception as error:  # the last resort: people get a sentence, never a traceback
        if os.environ.get("SEGJUDGE_DEBUG"):
            raise
        fail(_internal(error), output)


def _misused(error: click.ClickException, output: Output) -> NoReturn:
    if output.as_json:
        message = error.format_message()
        with whoever_reads(sys.stdout):
            output.object({"error": {"kind": "usage", "message": message, "advice": "See segjudge --help."}})
    with whoever_reads(sys.stderr):
        error.show(sys.stderr)
    finish(UsageError.exit_status)


def _internal(error: Exception) -> SegjudgeError:
    return SegjudgeError(
        f"This is a fault of segjudge itself ({type(error).__name__}: {error}).",
        "Please report it; SEGJUDGE_DEBUG=1 in the environment shows where it arose.",
    )
