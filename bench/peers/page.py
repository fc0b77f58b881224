"""The page of the documentation: tables in Markdown."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from environment import Environment, machine, own_versions
from measuring import Timing, clock
from parts import Table

QUIET = 0.1  # CPUs that other programs may keep busy
TENTH = 1.1

TOP = """# Speed beside other tools

This page is written whole by one command, which anybody can run:

```
{command}
```

It installs the newest release of every tool named here into an environment of its own, makes the files from
seeds, and times the tools by turns in random order. A comparison whose tools do not give the same numbers is
left out, and named as such. `bench/README.md` says how each figure comes about. Seconds depend on the machine;
the ratios are made within one round, of runs that follow each other.
"""

REDUCED = """**This run is reduced.** The full one is `{command}`.
"""

HOW = """## How to read this

* **In process**: from the files on disk to the result, imports left out for every tool; reading and decoding are
  inside, since some decode while they evaluate. The first repetition in a process does not count, but where a
  tool makes only one there: COCO's slowest two, and what people write themselves for CSV files.
* **From the shell** (COCO's files) and **whole process** (CSV files): a program from its start to its end, Python's
  start and all imports inside for every tool. COCO's slowest two are left out.
* **CSV files**, the competitions', are read by no other tool. Beside segjudge stands what people write themselves:
  the `csv` module or pandas, `numpy.fromstring` and pycocotools' IoU, and on a few images a notebook with an array
  of the whole picture for each mask. These two know one thread, and each of their runs gives both times.
* **n threads**: n CPUs that the tool may run on, and n threads asked for, which for segjudge means n workers. From
  Python these are threads; from the shell and as whole process they are, on Linux, processes, copies of the first.
  pycocotools knows one thread.
* **Over segjudge**: the tool's time over segjudge's, the median of the rounds, or the ratio of the medians where
  a tool ran less often: 2.00 is half segjudge's speed, and what is **below 1** is faster than segjudge. The
  spread is the least and the most of all repetitions.
* **The limit**: reading the same bytes by 1 MiB and counting newlines in them is the least that any program can
  do with text; above each table stands how many times as long segjudge takes.
* **Peak MiB**: the largest resident set of a process, of the largest one where there are several.

segjudge always checks what it reads, and hashes both files for the receipt of its score; that is inside, too.
"""


@dataclass(frozen=True, slots=True)
class Account:
    """How the run went."""

    command: str  # what was asked for
    full: str  # the same for a full run
    seconds: float
    others: float | None  # CPUs that other programs kept busy meanwhile; None if unknown
    bandwidth: float  # bytes a second from memory
    stopped: dict[str, str]  # part: why it gave no table


@dataclass(frozen=True, slots=True)
class Row:
    """segjudge beside the fastest other tool."""

    table: Table
    threads: int
    own: Timing
    name: str
    other: Timing

    @property
    def ratio(self) -> float:
        return self.other.ratio_to(self.own)

    def __str__(self) -> str:
        threads = f", {self.threads} thread{'s' * (self.threads > 1)}" if self.table.pair else ""
        return f"{self.table.title}, {self.table.kind}{threads}"


def written(results: Sequence[Table], peers: Environment, account: Account, *, drawn: bool) -> str:
    """The whole page."""
    tables = sorted(results, key=_place)
    lines = [TOP.format(command=account.command)]
    if account.command != account.full:
        lines.append(REDUCED.format(command=account.full))
    lines += [quietness(account), "", *_stopped(account)]
    if drawn:
        lines += ["![Time against the amount of work, and against threads](pictures/benchmark.png)", ""]
    lines += [*_summary(tables), HOW, *_machine(peers, account)]
    title = ""
    for table in tables:
        if table.title != title:
            title = table.title
            lines += [f"## {title}", ""]
        lines += _lines(table)
    return "\n".join(lines).rstrip() + "\n"


def _place(table: Table) -> tuple:
    """COCO's files by their size, in front; the rest as measured."""
    pair = table.pair
    return (0, not pair.boxes, pair.images) if pair is not None and pair.task == "coco" else (1,)


def quietness(account: Account) -> str:
    """Whether other programs disturbed the run, in a sentence."""
    if clock.cpu:
        return (
            "**The machine was not quiet.** All times are CPU seconds, of user and system together, with one "
            "thread; they say nothing of how tools use several."
        )
    if account.others is None:
        return "How busy other programs kept the machine meanwhile is not known."
    busy = f"other programs kept {account.others:.2f} of {os.cpu_count()} CPUs busy on average meanwhile"
    if account.others > QUIET:
        return f"**The machine was not quiet**: {busy}, so all times are too long and the ratios rough."
    return f"The machine was quiet: {busy}. Times are those of the wall clock."


def _stopped(account: Account) -> list[str]:
    lines = [f"* **Not measured**: {part}. {reason}" for part, reason in account.stopped.items()]
    return [*lines, ""] if lines else []


def rows(table: Table) -> Iterator[Row]:
    """segjudge at each number of threads beside the fastest other tool; none where there is no other."""
    for threads, own in table.own():
        others = table.others()
        if others:
            name, other = min(others, key=lambda item: item[1].ratio_to(own))
            yield Row(table, threads, own, name, other)


def _summary(tables: Sequence[Table]) -> list[str]:
    lines = ["| work | segjudge | fastest other | over segjudge |", "|---|---:|---|---:|"]
    every = [row for table in tables for row in rows(table)]
    for row in every:
        times = f"{_time(row.own.seconds)} | {_time(row.other.seconds)}, {row.name}"
        lines.append(f"| {row} | {times} | {_factor(row.ratio)} |")
    lines.append("")
    slower = [
        f"* {row}: {row.name} takes {_time(row.other.seconds)}, segjudge {_time(row.own.seconds)}"
        for row in every
        if row.ratio < 1
    ]
    lines += _listed("segjudge is not the fastest here", slower, "segjudge is the fastest in every row.")
    larger = [line for table in tables for line in _larger(table)]
    lines += _listed(
        "Another tool takes less memory here, by more than a tenth",
        larger,
        "No other tool takes less memory by more than a tenth.",
    )
    return lines


def _listed(heading: str, lines: list[str], none: str) -> list[str]:
    """A list with its heading, each line but the last closed by a semicolon."""
    if not lines:
        return [none, ""]
    return [f"**{heading}**:", "", *(f"{line};" for line in lines[:-1]), f"{lines[-1]}.", ""]


def _larger(table: Table) -> Iterator[str]:
    """Where another tool's peak memory is clearly below segjudge's."""
    others = table.others() if table.peaks else []
    for threads, own in table.own():
        if others:
            name, other = min(others, key=lambda item: item[1].peak)
            if own.peak > TENTH * other.peak:
                peaks = f"{other.peak / 2**20:.0f} MiB, segjudge {own.peak / 2**20:.0f} MiB"
                yield f"* {Row(table, threads, own, name, other)}: {name} {peaks}"


def _machine(peers: Environment, account: Account) -> list[str]:
    own = [f"{name} {version}" for name, version in own_versions().items()]
    others = [f"{name} {version}" for name, version in sorted(peers.versions.items()) if name != "matplotlib"]
    took = f"{datetime.now(UTC):%Y-%m-%d}, {max(1, round(account.seconds / 60))} minutes"
    return [
        f"**Machine**: {machine()}. One CPU reads {account.bandwidth / 1e9:.1f} GB a second from memory. {took}.",
        "",
        f"**segjudge's side**: {', '.join(own)}. **The other tools' side**: {', '.join(others)}.",
        "",
        *(f"{name}: {words}.\n" for name, words in peers.missing.items()),
    ]


def _factor(ratio: float, decimals: int = 2) -> str:
    text = f"{ratio:.{decimals}f}" if ratio < 10 else f"{ratio:.0f}"
    return text if ratio >= 1 else f"**{text}**"


def _lines(table: Table) -> list[str]:
    """One table with its heading and notes."""
    lines = []
    if table.pair is not None:
        threads = f", {table.threads} thread{'s' * (table.threads > 1)}" if table.threads else ""
        lines = [f"### {table.kind[:1].upper()}{table.kind[1:]}{threads}", ""]
    lines += [" ".join([*_files(table), *table.notes]), ""]
    peak = " peak MiB |" if table.peaks else ""
    lines += [
        f"| tool | median | spread | over segjudge |{peak}",
        "|---|---:|---:|---:|" + "---:|" * table.peaks,
    ]
    own = table.own()[0][1]
    for name, timing in table.timings.items():
        spread = " to ".join(map(_time, timing.spread)) if timing.spread else "one run"
        ratio = "1" if timing is own else _factor(timing.ratio_to(own))
        memory = f" {timing.peak / 2**20:.0f} |" if table.peaks else ""
        lines.append(f"| {name} | {_time(timing.seconds)} | {spread} | {ratio} |{memory}")
    return [*lines, ""]


def _files(table: Table) -> list[str]:
    """The size of the files and the distance to the limit, in sentences."""
    if table.pair is None:
        return []
    size = table.pair.size
    words = [f"{size / 1e6:,.1f} MB in two files." if size >= 1e5 else f"{size / 1e3:.0f} kB in two files."]
    if table.unit:
        seconds = table.own()[0][1].seconds
        words.append(
            f"Reading them and counting newlines takes {_time(table.unit)}; segjudge takes "
            f"{_factor(seconds / table.unit, 1)} times that, {size / seconds / 1e6:,.0f} MB a second."
        )
    return words


def _time(seconds: float) -> str:
    if seconds >= 10:
        return f"{seconds:.1f} s"
    if seconds >= 0.9995:
        return f"{seconds:.2f} s"
    if seconds >= 0.1:
        return f"{seconds * 1e3:.0f} ms"
    if seconds >= 1e-3:
        return f"{seconds * 1e3:.1f} ms"
    return f"{seconds * 1e6:.0f} µs"
