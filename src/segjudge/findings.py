"""Findings: what is wrong with a file, where, why, and what to do about it.

A `Finding` is one fault at one place. A `Collector` gathers them within bounds (at most twenty of a
code are kept, all are counted); a `Diagnosis` is what is left at the end.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal

from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["CAP", "Collector", "Diagnosis", "Finding", "Level", "Where"]

Level = Literal["error", "warning", "note"]

#: How many findings of one code are kept; `totals` counts all of them.
CAP = 20

_LEVELS: Mapping[str, int] = {"error": 0, "warning": 1, "note": 2}


@dataclass(frozen=True, slots=True)
class Where:
    """The place of a finding; what does not apply is None.

    `row` is the line at which the record starts, the header being line 1 (Parquet: index + 2);
    `entry` counts from 0 in JSON; `member` is a name inside an archive or folder.
    """

    file: str | None = None
    row: int | None = None
    column: str | None = None
    entry: int | None = None
    image: str | None = None
    class_: str | None = None
    member: str | None = None

    def __str__(self) -> str:
        """The place as people read it, such as `submission.csv:17`."""
        place = self.file or ""
        if self.row is not None:
            place += f":{self.row}"
        if self.entry is not None:
            place += f"[{self.entry}]"
        parts = [place] if place else []
        if self.member is not None:
            parts.append(self.member)
        elif self.image is not None and self.row is None and self.entry is None:
            parts.append(self.image)
        return " ".join(parts)

    def to_json(self) -> dict[str, Any]:
        """The place as plain data, every key there."""
        return {
            "file": self.file,
            "row": self.row,
            "column": self.column,
            "entry": self.entry,
            "image": self.image,
            "class": self.class_,
            "member": self.member,
        }


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault: a code of the list in the docs, its level, its place, the reason and advice.

    >>> print(Finding("rle-odd-tokens", "error", Where(file="a.csv", row=3), "3 numbers.", "Write pairs."))
    a.csv:3: error rle-odd-tokens: 3 numbers. Write pairs.
    """

    code: str
    level: Level
    where: Where
    message: str
    advice: str = ""

    def __str__(self) -> str:
        place = str(self.where)
        return (
            f"{place + ': ' if place else ''}{self.level} {self.code}: {self.message} {self.advice}".rstrip()
        )

    def to_json(self) -> dict[str, Any]:
        """The finding as plain data."""
        return {
            "code": self.code,
            "level": self.level,
            "where": self.where.to_json(),
            "message": self.message,
            "advice": self.advice,
        }


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All that was found in a file: the findings kept, and exact totals by code."""

    findings: tuple[Finding, ...] = ()
    totals: Mapping[str, int] = field(default_factory=dict)
    errors: int = 0

    @property
    def ok(self) -> bool:
        """True when nothing refuses the file; warnings and notes do not."""
        return self.errors == 0

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        return "\n".join(map(str, self.findings)) or "no findings"

    def __repr__(self) -> str:
        told = ", ".join(self.levels()) or "no findings"
        return f"Diagnosis({'ok' if self.ok else 'not ok'}: {told})"

    def _repr_html_(self) -> str:
        from segjudge.display import diagnosis_html  # noqa: PLC0415 - needed in notebooks alone

        rows = [(f.level, f.code, str(f.where), f.message, f.advice) for f in self.findings]
        return diagnosis_html(self.totals, self.errors, rows)

    def levels(self) -> list[str]:
        """How many errors, warnings and notes there are, in words: `["2 errors", "1 note"]`."""
        from segjudge.display import levels  # noqa: PLC0415 - needed in notebooks alone

        return levels(self.totals, self.errors, ((f.code, f.level) for f in self.findings))

    def to_csv(self) -> str:
        """The findings kept as CSV text, a row each, an empty cell for what does not apply.

        The columns are code, level, file, row, column, entry, image, class, member, message and advice. A
        text that a spreadsheet would take for a formula stands behind a `'`.

        >>> print(Diagnosis((Finding("missing-id", "error", Where("a.csv", image="=1"), "Gone."),)).to_csv())
        code,level,file,row,column,entry,image,class,member,message,advice
        missing-id,error,a.csv,,,,'=1,,,Gone.,
        <BLANKLINE>
        """
        from segjudge.display import csv_text, harmless  # noqa: PLC0415 - needed by those who ask for it

        header = ("code", "level", *Where().to_json(), "message", "advice")
        rows = ({**f.to_json(), **f.where.to_json()} for f in self.findings)
        return csv_text(
            header,
            (
                [harmless(cell) if isinstance(cell, str) else cell for cell in map(row.get, header)]
                for row in rows
            ),
        )

    def codes(self) -> set[str]:
        """The codes that occur."""
        return set(self.totals)

    def to_json(self) -> dict[str, Any]:
        """The diagnosis as plain data: what `check --json` prints."""
        return {
            "ok": self.ok,
            "findings": [finding.to_json() for finding in self.findings],
            "totals": dict(self.totals),
        }


class Collector:
    """Gathers findings within bounds.

    `cap` findings of each code are kept, in the order in which they come; all are counted. `sink`, if
    given, receives every finding as it comes and nothing is kept, so that no bound is needed.

    >>> collector = Collector(cap=1)
    >>> for row in (2, 3):
    ...     collector.add("missing-id", Where(row=row), "gone.")
    >>> diagnosis = collector.diagnosis()
    >>> len(diagnosis.findings), diagnosis.totals, diagnosis.ok
    (1, {'missing-id': 2}, False)
    """

    def __init__(self, cap: int | None = CAP, sink: Callable[[Finding], None] | None = None) -> None:
        self.cap = cap
        self.sink = sink
        self.errors = 0
        self._totals: Counter[str] = Counter()
        self._kept: list[Finding] = []
        self._kept_by_code: Counter[str] = Counter()

    def wants(self, code: str) -> bool:
        """True while a finding of this code would be kept: building its words is worth the time."""
        return self.sink is not None or self.cap is None or self._kept_by_code[code] < self.cap

    def add(self, code: str, where: Where, message: str, advice: str = "", *, level: Level = "error") -> None:
        """Keep or count one finding."""
        self.extend([Finding(code, level, where, message, advice)])

    def count(self, code: str, number: int = 1, *, level: Level = "error") -> None:
        """Count findings that `wants` has said are not kept any more."""
        self._totals[code] += number
        if level == "error":
            self.errors += number

    def extend(self, findings: Iterable[Finding]) -> None:
        """Keep or count each of the findings."""
        for finding in findings:
            self.count(finding.code, level=finding.level)
            if self.sink is not None:
                self.sink(finding)
            elif self.wants(finding.code):
                self._kept.append(finding)
                self._kept_by_code[finding.code] += 1

    def copy(self) -> Collector:
        """A collector that goes on from here, and leaves this one as it is."""
        other = Collector(self.cap, self.sink)
        other.errors = self.errors
        other._totals = self._totals.copy()
        other._kept = self._kept.copy()
        other._kept_by_code = self._kept_by_code.copy()
        return other

    def absorb(self, other: Collector) -> None:
        """Take over what another collector has gathered; order is that of the calls."""
        for finding in other._kept:
            if self.sink is not None:
                self.sink(finding)
            elif self.wants(finding.code):
                self._kept.append(finding)
                self._kept_by_code[finding.code] += 1
        self._totals.update(other._totals)
        self.errors += other.errors

    def diagnosis(self) -> Diagnosis:
        """What was gathered, sorted by level and place."""
        kept = sorted(self._kept, key=_reading_order)
        return Diagnosis(tuple(kept), dict(self._totals), self.errors)


def _reading_order(finding: Finding) -> tuple[int, int, int]:
    """Errors before warnings before notes; faults of the whole file before those of a row."""
    where = finding.where
    return (_LEVELS[finding.level], where.row or 0, where.entry if where.entry is not None else -1)
