"""The command line in process: its status, what it printed, and the one JSON object."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, NamedTuple
from unittest import mock

from segjudge.cli.app import main


class Outcome(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The object on standard output; anything before, behind or besides it raises."""
        return json.loads(self.out, parse_constant=_no_number)


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no JSON")


def segjudge(*arguments: object, stdin: bytes = b"") -> Outcome:
    """What `segjudge ARGUMENTS` does; an exception other than leaving comes through."""
    out, err = io.StringIO(), io.StringIO()
    given = mock.Mock(buffer=io.BytesIO(stdin))
    status = 0
    with (
        mock.patch.object(sys, "argv", ["segjudge", *map(str, arguments)]),
        mock.patch.object(sys, "stdin", given),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as leave:
            status = leave.code if isinstance(leave.code, int) else 0 if leave.code is None else 1
    return Outcome(status, out.getvalue(), err.getvalue())
