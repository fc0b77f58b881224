"""What has begun on a file before it is opened: its receipt, and maybe a pass over its text.

A program that knows its files before it has loaded all that it needs lets a crew begin with them; who
opens them then goes on with what is there. No numpy is needed for that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from segjudge.findings import Collector
from segjudge.formats.opening import Workspace, is_packed, label_of
from segjudge.formats.receipts import Receipt

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future
    from pathlib import Path

    from segjudge.crew import Crew

__all__ = ["Begun", "Pass"]

Passed = TypeVar("Passed")

if TYPE_CHECKING:
    #: A pass over a plain file: its path and label, findings, temporary files, and the receipt if it is wanted.
    Pass = Callable[[Path, str, Collector, Workspace, Receipt | None], Passed]


class Begun:
    """Findings and temporary files of one file, its receipt if somebody waits for it, and its pass.

    The receipt is wanted where the `path` is given.
    """

    def __init__(self, path: Path | None = None, *, findings: Collector | None = None) -> None:
        self.findings = findings or Collector()
        self.workspace = Workspace()
        self.receipt = None if path is None else Receipt(path)
        self._path = path
        self._pass: Future[Any] | None = None

    def begin(self, crew: Crew, passing: Pass[Any] | None = None) -> None:
        """Let a crew of several pass over the file, which also gives its receipt, or else work that out."""
        if self._path is None or self.receipt is None or crew.workers == 1:
            return
        if passing is None or is_packed(self._path):
            self.receipt.begin(crew)
            return
        self.receipt.leave_to_reader(crew)
        self._pass = crew.pool.submit(
            passing, self._path, label_of(self._path), self.findings, self.workspace, self.receipt
        )

    def receipt_of(self, place: Path) -> Receipt | None:
        """The receipt that somebody waits for; standard input and what a URL names lie elsewhere by now."""
        if self.receipt is not None and self.receipt.path != place:
            self.receipt = Receipt(place)
        return self.receipt

    def passed(self, passing: Pass[Passed], plain: Path, label: str) -> Passed:
        """What the pass gives that has begun, or one from here on."""
        if self._pass is not None:
            result: Passed = self._pass.result()
            return result
        return passing(plain, label, self.findings, self.workspace, self.receipt)
