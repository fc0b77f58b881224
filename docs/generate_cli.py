"""Writes `docs/cli.md` from the commands themselves: `python docs/generate_cli.py`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).with_name("cli.md")

INTRODUCTION = """\
# Command line

This page is made from the commands by `docs/generate_cli.py`.

Every verb has `--json`: exactly one JSON object on standard output, and everything for people on standard
error. Without a terminal there are no colours and no bars; `NO_COLOR` and `--quiet` are honoured. `-` in place of
a file is standard input. The [exit statuses](host.md#exit-statuses) are the same for all verbs.

A file that a verb writes is there whole or not at all. One of the same name is replaced, and stays what it was if the
work fails or is broken off; a folder in which something lies already is refused.
"""

#: What each argument is; a new one has to be explained here.
ARGUMENTS = {
    "task": "The id of a built-in task, or the path of a TOML file.",
    "truth": "The truth, in any of the task's forms.",
    "submission": "The submission: a file, an archive or a folder, as the task asks for.",
    "masks": "The folder of masks, named as the task's page says.",
    "source": "The table to read, CSV or Parquet.",
    "target": "The table to write; its ending says the form.",
    "data": "The competition's training folder, or one that `make-data` wrote.",
    "run": "The folder that `train` wrote; for `predict` also a file that `export` wrote.",
    "pictures": "The folder of images to predict, as the competition ships it.",
}


def page() -> str:
    """The whole page."""
    from segjudge.cli import app  # noqa: PLC0415 - only here is the package needed

    parts = [INTRODUCTION]
    context = click.Context(app, info_name="segjudge")
    for name in app.list_commands(context):
        command = app.get_command(context, name)
        if command is not None and not command.hidden:
            parts.append("\n".join(_verb(name, command)))
    return "\n".join(parts)


def _verb(name: str, command: click.Command) -> Iterator[str]:
    arguments = [p for p in command.params if isinstance(p, click.Argument)]
    options = [p for p in command.params if isinstance(p, click.Option)]
    yield f"## {name}\n"
    yield f"{_line(command.help or '')}\n"
    words = ["segjudge", name, *(_argument(argument) for argument in arguments), "[OPTIONS]"]
    yield f"```sh\n{' '.join(words)}\n```\n"
    if arguments:
        yield "| argument | meaning |\n|---|---|"
        for argument in arguments:
            yield f"| `{_argument(argument)}` | {ARGUMENTS[str(argument.name)]} |"
        yield ""
    yield "| option | meaning |\n|---|---|"
    for option in options:
        yield f"| {_option(option)} | {_cell(option.help or '')} |"
    yield ""


def _argument(argument: click.Argument) -> str:
    name = argument.metavar or str(argument.name).upper()
    return f"{name}…" if argument.nargs == -1 else name


def _option(option: click.Option) -> str:
    value = ""
    if not option.is_flag:
        choices = option.type.choices if isinstance(option.type, click.Choice) else ()
        value = " " + (option.metavar or "|".join(map(str, choices)) or option.type.name.upper())
    names = [*option.opts, *option.secondary_opts]
    return ", ".join(f"`{_cell(name + value)}`" for name in names)


def _cell(text: str) -> str:
    return _line(text).replace("|", "\\|")


def _line(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    if "--check" in sys.argv and PAGE.read_text(encoding="utf-8") != page():
        sys.exit(f"{PAGE.name} is not what the commands say; run `python docs/generate_cli.py`.")
    PAGE.write_text(page(), encoding="utf-8")
