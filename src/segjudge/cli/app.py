"""The command: its verbs in the order in which people meet them, and every way out of it."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from typing import NoReturn

import click

from segjudge.cli.judging import check, check_truth, doctor, score, show, tasks
from segjudge.cli.learning import export, predict, train
from segjudge.cli.making import convert, decode, demo, encode, make_data, sample
from segjudge.cli.running import INTERRUPTED, Output, fail, finish
from segjudge.errors import SegjudgeError, UsageError

__all__ = ["app", "main"]


class _Group(click.Group):
    """The verbs in the order in which people meet them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self.commands)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="segjudge", prog_name="segjudge")
def app() -> None:
    """Check and score submissions to image-segmentation competitions, exactly as the leaderboard would.

    TASK is the id of a built-in task (see `segjudge tasks`) or the path of a TOML file.
    """


for _verb in (
    demo,
    tasks,
    show,
    doctor,
    check,
    check_truth,
    score,
    sample,
    encode,
    decode,
    convert,
    make_data,
    train,
    predict,
    export,
):
    app.add_command(_verb)


def main() -> None:
    """The entry point: every way out has its status, and no way shows a traceback."""
    _collect_less()
    output = Output(as_json="--json" in sys.argv)
    try:
        app(standalone_mode=False)
    except click.exceptions.Exit as leave:
        finish(leave.exit_code)
    except click.ClickException as error:
        _misused(error, output)
    except SegjudgeError as error:
        fail(error, output)
    except (click.Abort, KeyboardInterrupt):
        sys.stderr.write("segjudge: interrupted.\n")
        finish(INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        finish(0)
    except OSError as error:
        fail(UsageError(f"{error.filename or 'A file'} cannot be read: {error.strerror or error}."), output)
    except Exception as error:  # the last resort: people get a sentence, never a traceback
        if os.environ.get("SEGJUDGE_DEBUG"):
            raise
        fail(_internal(error), output)


def _collect_less() -> None:
    """A short program makes many objects while it starts, and leaves them all to the system when it ends."""
    gc.set_threshold(100_000)
    atexit.register(gc.freeze)


def _misused(error: click.ClickException, output: Output) -> NoReturn:
    if output.as_json:
        message = error.format_message()
        output.object({"error": {"kind": "usage", "message": message, "advice": "See segjudge --help."}})
    error.show(sys.stderr)
    finish(UsageError.exit_status)


def _internal(error: Exception) -> SegjudgeError:
    return SegjudgeError(
        f"This is a fault of segjudge itself ({type(error).__name__}: {error}).",
        "Please report it; SEGJUDGE_DEBUG=1 in the environment shows where it arose.",
    )
