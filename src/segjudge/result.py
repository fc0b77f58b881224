"""Result: a score, its parts, and everything that led to it."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from segjudge.errors import UsageError
from segjudge.records import dataclass
from segjudge.task import decimal_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from segjudge.findings import Diagnosis

__all__ = ["Result"]


@dataclass(frozen=True, slots=True)
class Result:
    """A score with everything that led to it; `to_json` is what `score --json` prints."""

    task: str
    score: float | None  # None where it is undefined: no class has truth, nothing is left to average
    points: float | None
    by_class: Mapping[int, float | None]
    by_threshold: Mapping[Fraction, float | None]
    by_image: Mapping[str, float | None]
    counts: Mapping[str, int]
    findings: Diagnosis
    truth_findings: Diagnosis
    settings: Mapping[str, Any]
    receipt: Mapping[str, str]
    by: frozenset[str] = field(default=frozenset())
    by_area: Mapping[str, float | None] = field(default_factory=dict)
    metrics: Mapping[str, float | None] = field(default_factory=dict)  # other numbers that go by a name
    class_names: Mapping[int, str] = field(default_factory=dict)  # of the task, or of the truth's own classes

    def __repr__(self) -> str:
        from segjudge.display import counted  # noqa: PLC0415 - needed in notebooks alone

        score = "undefined" if self.score is None else f"{self.score:.6f}"
        points = [] if self.points is None else [f"{self.points:.2f} points"]
        counts = [counted(self.counts[f"{word}s"], word) for word in ("image", "truth", "prediction")]
        truth = [f"{told} about the truth" for told in self.truth_findings.levels()]
        return f"Result({self.task}: {', '.join([score, *points, *counts, *self.findings.levels(), *truth])})"

    def _repr_html_(self) -> str:
        from segjudge.display import result_html  # noqa: PLC0415 - needed in notebooks alone

        sides = (("Submission", self.findings), ("Truth", self.truth_findings))
        found = [(name, side._repr_html_()) for name, side in sides if side.totals]
        return result_html(self.to_json(), *found)

    def to_csv(self, part: str, *, names: Mapping[int, str] | None = None) -> str:
        """One part of the score as CSV text: `class`, `threshold`, `area` or `image`, a row each and its score.

        A score is written in full, so that it reads back the same; one that is undefined is an empty cell.
        `names`, such as a task's `classes`, add a column with the name of each class. Raises UsageError for
        a part that was not asked for or that the task lacks.
        """
        from segjudge.display import csv_text  # noqa: PLC0415 - needed by those who ask for it

        if part not in self.by:
            there = ", ".join(sorted(self.by)) or "none"
            raise UsageError(f"This result has no score by {part!r}.", f"Its parts: {there}.")
        if part == "class" and names is not None:
            rows = [(number, names.get(number), value) for number, value in self.by_class.items()]
            return csv_text(("class", "name", "score"), rows)
        tables: dict[str, Mapping[Any, float | None]] = {
            "class": self.by_class,
            "threshold": {decimal_text(key): value for key, value in self.by_threshold.items()},
            "area": self.by_area,
            "image": self.by_image,
        }
        return csv_text((part, "score"), tables[part].items())

    def to_json(self) -> dict[str, Any]:
        """The result as plain data."""
        parts: dict[str, Any] = {"metrics": dict(self.metrics)} if self.metrics else {}
        if "class" in self.by:
            parts["by_class"] = {str(key): value for key, value in self.by_class.items()}
        if "threshold" in self.by:
            parts["by_threshold"] = {decimal_text(key): value for key, value in self.by_threshold.items()}
        if "area" in self.by:
            parts["by_area"] = dict(self.by_area)
        if "image" in self.by:
            parts["by_image"] = dict(self.by_image)
        return {
            "task": self.task,
            "score": self.score,
            "points": self.points,
            **parts,
            "counts": dict(self.counts),
            "findings": [finding.to_json() for finding in self.findings.findings],
            "truth_findings": [finding.to_json() for finding in self.truth_findings.findings],
            "settings": dict(self.settings),
            "receipt": dict(self.receipt),
        }
