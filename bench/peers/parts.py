"""What is measured: COCO's files, encoding, and one image's masks; competitions.py has the CSV files."""

import statistics
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import workloads
from environment import OWN, Environment
from measuring import BenchError, Timing, answering, by_turns, clock, say, usable, whole_process
from workloads import BENCH, Pair

sys.path.append(str(BENCH))
import measure

HERE = Path(__file__).parent
SLOW = ("faster-coco-eval", "pycocotools")  # a round takes as long as all of the others'
COCO_TOOLS = ("segjudge", "ultrafast-pycocotools", "vernier", "hotcoco", *SLOW)
SEGJUDGE = [OWN, "-m", "segjudge"]
CLOSE = 1e-9
CACHED = 1 << 20  # bytes: a mask that is smaller may never leave the processor


@dataclass(slots=True)
class Table:
    """One table of the page: a row for each tool, every time beside segjudge's."""

    title: str
    pair: Pair | None = None
    threads: int = 1
    timings: dict[str, Timing] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    unit: float | None = None  # seconds that reading the files and counting newlines takes
    peaks: bool = True
    kind: str = "in process"  # or from the shell, or whole process

    def own(self) -> list[tuple[int, Timing]]:
        """segjudge's timings by threads, fewest first; the tables of CSV files have several."""
        found = []
        for name, timing in self.timings.items():
            tool, _, threads = name.partition(", ")
            if tool == "segjudge":
                found.append((int(threads.split()[0]) if threads else self.threads, timing))
        return found

    def others(self) -> list[tuple[str, Timing]]:
        """The other tools' timings."""
        return [(name, timing) for name, timing in self.timings.items() if name.split(",")[0] != "segjudge"]


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured."""

    rounds: int
    repeats: int
    seed: int
    threads: tuple[int, ...]


def coco_command(tool: str, pair: Pair, threads: int, repeats: int, peers: Environment) -> list[str]:
    python = OWN if tool == "segjudge" else peers.python
    script = [python, str(HERE / "coco_tool.py"), tool]
    return [*script, str(pair.truth), str(pair.submission), str(threads), str(repeats)]


def shell_command(tool: str, pair: Pair, threads: int, peers: Environment) -> list[str]:
    if tool != "segjudge":
        return coco_command(tool, pair, threads, 0, peers)
    return score_command(pair, threads)


def score_command(pair: Pair, threads: int) -> list[str]:
    files = [str(pair.truth), str(pair.submission)]
    return [*SEGJUDGE, "score", pair.task, *files, "--json", "--workers", str(threads)]


def coco(pair: Pair, effort: Effort, peers: Environment, *, shell: bool = True) -> list[Table]:
    """In process and from the shell, for each number of threads; first all tools give the same numbers."""
    say(pair.title)
    once = {
        tool: answering(coco_command(tool, pair, 1, 1, peers), 1, own=tool == "segjudge")
        for tool in COCO_TOOLS
        if tool == "segjudge" or tool in peers.versions
    }
    working, answers, refused = usable(once)
    if "segjudge" in refused:
        raise BenchError(f"{pair.title}: segjudge gives no score: {refused['segjudge']}")
    apart = agreement({tool: answer["numbers"] for tool, answer in answers.items()}, pair.title)
    notes = [f"All twelve numbers agree to {apart:.0e}." if apart else "All twelve numbers are equal."]
    notes += [f"{tool} refuses these files ({reason})." for tool, reason in refused.items()]
    unit, tables = seconds_to_read(pair), []
    for threads in effort.threads:
        jobs, rounds = {}, {}
        for tool in working:
            slow = tool in SLOW
            command = coco_command(tool, pair, threads, 1 if slow else effort.repeats + 1, peers)
            jobs[tool] = answering(command, threads, own=tool == "segjudge")
            rounds[tool] = 1 if slow else effort.rounds
        if "pycocotools" in jobs:  # it knows one thread only, and its check is its round
            jobs["pycocotools"] = lambda: answers["pycocotools"]
        timings = by_turns(jobs, rounds, effort.seed)
        tables.append(Table(pair.title, pair, threads, timings, notes, unit))
        if shell:
            fast = [tool for tool in working if tool not in SLOW]
            jobs = {
                tool: whole_process(
                    shell_command(tool, pair, threads, peers), threads, own=tool == "segjudge"
                )
                for tool in fast
            }
            timings = by_turns(jobs, effort.rounds * 2, effort.seed + 1)
            tables.append(Table(pair.title, pair, threads, timings, [], unit, kind="from the shell"))
        notes = []
    return tables


def seconds_to_read(pair: Pair) -> float | None:
    """What reading both files takes; None where CPU seconds are measured, which have no such limit."""
    if clock.cpu:
        return None
    seconds = [measure.unit_seconds([str(pair.truth), str(pair.submission)]) for _ in range(6)]
    return statistics.median(seconds[1:])


def agreement(numbers: dict[str, list], title: str) -> float:
    """How far the tools' numbers are apart; BenchError where that is more than rounding."""
    known = list(numbers.items())
    first_tool, first = known[-1]
    furthest = 0.0
    for tool, values in known[:-1]:
        for own, others in zip(values, first, strict=True):
            if (own is None) != (others is None):
                raise BenchError(f"{title}: {tool} and {first_tool} do not define the same numbers.")
            if own is not None:
                furthest = max(furthest, abs(own - others))
        if furthest > CLOSE:
            raise BenchError(f"{title}: {tool} and {first_tool} differ by {furthest}.")
    return furthest


def masks(work: Path, effort: Effort, peers: Environment, bandwidth: float) -> Iterable[Table]:
    """Encoding in both orders and at two sizes, and the IoU of one image's masks."""
    for height, width, count in ((480, 640, 20), (2710, 3384, 2)):
        path = workloads.masks(work, height, width, count)
        for order in ("column", "row"):
            title = f"Encode one mask of {height} × {width}, {order} order"
            table = _masks(title, f"encode-{order}", path, effort, peers)
            if height * width > CACHED and not clock.cpu:
                least = height * width / bandwidth * 1e3
                table.notes.append(f"One CPU reads the mask's bytes from memory in {least:.2f} ms at best.")
            yield table
    path = workloads.crowded_image(work)
    yield _masks(
        "IoU of 60 masks with 40, one image of 2710 × 3384, from COCO's texts", "iou", path, effort, peers
    )


def _masks(title: str, case: str, path: Path, effort: Effort, peers: Environment) -> Table:
    say(title)
    jobs = {}
    for tool in (
        "segjudge",
        "ultrafast-pycocotools",
        "hotcoco",
        "rlemasklib",
        "faster-coco-eval",
        "pycocotools",
    ):
        if tool == "segjudge" or tool in peers.versions:
            python = OWN if tool == "segjudge" else peers.python
            command = [python, str(HERE / "masks_tool.py"), tool, case, str(path), str(effort.repeats * 3)]
            jobs[tool] = answering(command, 1, own=tool == "segjudge")
    working, answers, refused = usable(jobs)
    prints = {tool: answer["fingerprint"] for tool, answer in answers.items()}
    if len(set(prints.values())) > 1:
        raise BenchError(f"{title}: the answers differ: {prints}")
    notes = [
        "All answers are equal.",
        *(f"{tool} cannot do this: {words}." for tool, words in refused.items()),
    ]
    return Table(title, None, 1, by_turns(working, effort.rounds, effort.seed), notes, peaks=False)
