"""The page of the documentation: tables in Markdown."""

from collections.abc import Sequence
from datetime import UTC, datetime

from environment import Environment, load, machine, own_versions
from measuring import clock
from parts import Table

TOP = """# Speed beside other tools

This page is written by `python bench/peers`, which anybody can run: it installs the newest release of every
tool named here into an environment of its own, makes the files from seeds, lets all tools answer once and
stops unless they give the same numbers, and then times them by turns in random order.
`bench/README.md` says how each figure comes about. Seconds depend on the machine; the ratios are made within
one round, of runs that follow each other.

"""

BUSY = """**The machine was not quiet.** All times below are CPU seconds, of user and system together, with one
thread; they say nothing of how tools use several.

"""

HOW = """
**In process**: from the files on disk to the result, imports left out; reading and decoding are inside for
every tool, since some decode while they evaluate. **From the shell**: the whole process, Python's start and
all imports inside. *n threads* means n CPUs that the process may run on, and n threads asked for. The spread
is the least and the most of all repetitions; the ratio is the tool's time over segjudge's, the median of the
rounds, so 2.00 is half segjudge's speed. Peak memory is the largest resident set of the process.

**The distance to the limit**: reading the same bytes by 1 MiB and counting newlines in them is the least that
any program can do with text; a table's heading says how long that takes here, and how much longer segjudge takes.

segjudge always checks what it reads, and hashes both files for the receipt of its score; that is inside, too.
"""


def written(
    results: Sequence[Table], peers: Environment, load_before: str, bandwidth: float, *, drawn: bool
) -> str:
    """The whole page."""
    busy = [BUSY] if clock.cpu else []
    lines = [TOP, *busy, *_summary(results), HOW, *_machine(peers, load_before, bandwidth)]
    if drawn:
        lines += ["![Time against work and against threads](pictures/benchmark.png)", ""]
    title = ""
    for table in results:
        if table.title != title:
            title = table.title
            lines += [f"## {title}", ""]
        lines += _lines(table)
    return "\n".join(lines).rstrip() + "\n"


def _machine(peers: Environment, load_before: str, bandwidth: float) -> list[str]:
    own = own_versions()
    versions = [f"{name} {version}" for name, version in own.items()]
    others = [f"{name} {version}" for name, version in sorted(peers.versions.items()) if name != "matplotlib"]
    loads = f"Load averages before and after: {load_before}; {load()}. {datetime.now(UTC):%Y-%m-%d}."
    lines = [
        "",
        f"**Machine**: {machine()}. One CPU reads {bandwidth / 1e9:.1f} GB a second from memory. {loads}",
        "",
        f"**segjudge's side**: {', '.join(versions)}. **The peers' side**: {', '.join(others)}.",
        "",
    ]
    lines += [f"{name}: {words}.\n" for name, words in peers.missing.items()]
    return lines


def fastest(table: Table) -> tuple[str, float] | None:
    """The fastest peer, and its ratio to segjudge; None where there is no peer."""
    own = baseline(table)
    ratios = {
        name: timing.ratio_to(own)
        for name, timing in table.timings.items()
        if not name.startswith("segjudge")
    }
    return min(ratios.items(), key=lambda item: item[1]) if ratios else None


def baseline(table: Table):
    """segjudge's own timing, with one thread where the table has several."""
    return next(timing for name, timing in table.timings.items() if name.startswith("segjudge"))


def _summary(results: Sequence[Table]) -> list[str]:
    lines = ["| work | how | threads | fastest other | its time over segjudge's |", "|---|---|---:|---|---:|"]
    lost = []
    for table in results:
        best = fastest(table)
        if best is None:
            continue
        how, threads = table.kind or "in process", table.threads or 1
        lines.append(f"| {table.title} | {how} | {threads} | {best[0]} | {_factor(best[1])} |")
        if best[1] < 1:
            lost.append(f"{table.title} ({how}, {threads} thread{'s' * (threads > 1)}: {best[0]})")
    lines.append("")
    if lost:
        lines.append("**segjudge is not the fastest at**: " + "; ".join(lost) + ".")
    else:
        lines.append("segjudge is the fastest in every row.")
    return lines


def _factor(ratio: float) -> str:
    text = f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"
    return text if ratio >= 1 else f"**{text}**"


def _lines(table: Table) -> list[str]:
    own = baseline(table)
    heading = table.kind
    if table.threads:
        heading += f"{', ' * bool(heading)}{table.threads} thread{'s' * (table.threads > 1)}"
    lines = [f"### {heading[:1].upper()}{heading[1:]}", ""] if table.kind else []
    if table.pair is not None:
        size = f"{table.pair.size / 1e6:.1f} MB in two files"
        if table.unit:
            speed = f"{table.pair.size / own.seconds / 1e6:,.0f} MB a second"
            times = f"{own.seconds / table.unit:.1f} times that ({speed})"
            size += f"; read and newlines counted in {_time(table.unit)}, segjudge {times}"
        lines += [f"{size}. {' '.join(table.notes)}".rstrip(), ""]
    elif table.notes:
        lines += [" ".join(table.notes), ""]
    peak = " peak MiB |" if table.peaks else ""
    lines += [
        f"| tool | median | spread | over segjudge |{peak}",
        "|---|---:|---:|---:|" + "---:|" * table.peaks,
    ]
    for name, timing in table.timings.items():
        low, high = timing.spread
        ratio = "1" if timing is own else _factor(timing.ratio_to(own))
        memory = f" {timing.peak / 2**20:.0f} |" if table.peaks else ""
        lines.append(
            f"| {name} | {_time(timing.seconds)} | {_time(low)} to {_time(high)} | {ratio} |{memory}"
        )
    return [*lines, ""]


def _time(seconds: float) -> str:
    if seconds >= 10:
        return f"{seconds:.1f} s"
    if seconds >= 1:
        return f"{seconds:.2f} s"
    if seconds >= 0.1:
        return f"{seconds * 1e3:.0f} ms"
    if seconds >= 1e-3:
        return f"{seconds * 1e3:.1f} ms"
    return f"{seconds * 1e6:.0f} µs"
