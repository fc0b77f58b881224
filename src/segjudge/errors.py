"""Every exception of segjudge.

    SegjudgeError                something stopped the work; the message says where, what and what to do
    ├── UsageError               the call itself is wrong: unknown task, setting or file
    ├── TaskError                a task file contradicts itself or the format
    ├── TruthError               the host's truth is at fault; carries `.diagnosis`
    ├── SubmissionError          the participant's submission is at fault; carries `.diagnosis`
    ├── MaskError                text or arrays that are no mask in the named encoding
    ├── ClusterError             the machines that were to share the work did not do it
    ├── TrainingError            training cannot go on: the loss is no number
    └── MissingExtra             an optional library is not installed; names the pip command

A participant's mistake never appears as anything but `SubmissionError` (or as findings).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from segjudge.findings import Diagnosis

__all__ = [
    "ClusterError",
    "MaskError",
    "MissingExtra",
    "SegjudgeError",
    "SubmissionError",
    "TaskError",
    "TrainingError",
    "TruthError",
    "UsageError",
]


class SegjudgeError(Exception):
    """Something stopped the work; `advice` says what to do about it."""

    kind: ClassVar[str] = "internal"
    exit_status: ClassVar[int] = 3

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.message} {self.advice}".rstrip()


class UsageError(SegjudgeError):
    """The call itself is wrong: an unknown task, setting or file."""

    kind = "usage"
    exit_status = 2


class TaskError(SegjudgeError):
    """A task file contradicts itself or the format of task files."""

    kind = "task"


class DiagnosedError(SegjudgeError):
    """An error that carries the findings that led to it."""

    def __init__(self, message: str, diagnosis: Diagnosis, advice: str = "") -> None:
        super().__init__(message, advice)
        self.diagnosis = diagnosis


class TruthError(DiagnosedError):
    """The host's truth is at fault; `.diagnosis` lists every fault."""

    kind = "truth"


class SubmissionError(DiagnosedError):
    """The participant's submission is at fault; `.diagnosis` lists every finding."""

    kind = "submission"
    exit_status = 1


class MaskError(SegjudgeError, ValueError):
    """Text or arrays that are no mask in the named encoding."""

    kind = "mask"


class ClusterError(SegjudgeError):
    """The machines that were to share the work cannot be reached, or did not do it."""

    kind = "cluster"


class TrainingError(SegjudgeError):
    """Training cannot go on: the loss is no number."""

    kind = "training"


class MissingExtra(SegjudgeError, ImportError):  # noqa: N818 - the name says what is missing
    """An optional library is not installed."""

    kind = "missing-extra"

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the extra '{extra}', which is not installed.",
            f"Install it with: pip install 'segjudge[{extra}]'",
        )
        self.extra = extra
