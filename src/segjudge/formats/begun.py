"""What has begun on a file before it is opened: its receipt, and maybe a pass over its text.

A program that knows its files before it has loaded all that it needs sends somebody ahead, or lets a crew
begin with them; who opens them then goes on with what is there. No numpy is needed for that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from segjudge.findings import Collector
from segjudge.formats.opening import Workspace, is_packed, label_of
from segjudge.formats.receipts import Receipt, sha256_of_mapped

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future
    from pathlib import Path

    from segjudge.crew import Crew
    from segjudge.doubles import Doubles, Errand

__all__ = ["Begun", "Pass", "Passed"]


class Passed(Protocol):
    """What a pass brings home."""

    findings: Collector


Kind = TypeVar("Kind", bound=Passed)

if TYPE_CHECKING:
    #: A pass over a plain file: its path and label, findings, temporary files, and the receipt if it is wanted.
    Pass = Callable[[Path, str, Collector, Workspace, Receipt | None], Kind | None]


class _NotPlain(Exception):  # noqa: N818 - a signal, not a fault
    """The pass needs a temporary file."""


class _NoWorkspace(Workspace):
    """None: a double may be ended at any time, and its temporary files would stay."""

    def new_file(self) -> Path:
        raise _NotPlain


class _Ahead(NamedTuple):
    """What a double brings home."""

    receipt: str
    passed: Any = None  # None where no pass was wanted, or where there is something to tell


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
        self._ahead: Callable[[], _Ahead | None] | None = None

    @staticmethod
    def work(path: Path, passing: Pass[Any] | None = None) -> Callable[[Errand], Any]:
        """What doubles can do: pass over the file, or work out its receipt alone."""
        wanted = None if passing is not None and is_packed(path) else passing
        return lambda errand: _ahead(path, wanted, errand)

    def expect(self, doubles: Doubles, place: int) -> None:
        """Go on with what doubles have done, whose list of work has it at this place."""

        def result() -> _Ahead | None:
            found: _Ahead | None = doubles.result(place)
            return found

        self._ahead = result
        if self.receipt is not None:
            self.receipt.expect(lambda: found.receipt if (found := result()) is not None else None)

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

    def passed(self, passing: Pass[Kind], plain: Path, label: str) -> Kind | None:
        """What the pass gives that has begun, or one from here on."""
        if self._pass is not None:
            result: Kind | None = self._pass.result()
            return result
        ahead = self._ahead() if self._ahead is not None else None
        if ahead is not None and ahead.passed is not None:
            whole: Kind = ahead.passed
            whole.findings = self.findings
            return whole
        if ahead is None and self.receipt is not None:
            self.receipt.leave_to_reader()
        return passing(plain, label, self.findings, self.workspace, self.receipt)


def _ahead(path: Path, passing: Pass[Any] | None, errand: Errand) -> _Ahead:
    """What a double does.

    A file of which there is something to tell, or from which masks are rewritten, is passed over again by
    the sender.
    """
    if passing is None:
        return _Ahead(sha256_of_mapped(path, errand))
    findings, receipt = Collector(), Receipt(path)
    receipt.leave_to_reader(errand)
    try:
        passed = passing(path, label_of(path), findings, _NoWorkspace(), receipt)
    except _NotPlain:
        return _Ahead(sha256_of_mapped(path, errand))
    return _Ahead(receipt.value(), None if findings.diagnosis().totals else passed)
