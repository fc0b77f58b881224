"""Measures `segjudge score` as a whole process, in units of reading the same files.

    python bench/measure.py wad-2018 wad/truth.csv wad/submission.csv --images wad/images.csv --workers 1,2
    python bench/measure.py wad-2018 wad/truth.csv wad/submission.csv --peer

A Markdown table on standard output, progress on standard error. README.md says what each column means.
"""

import argparse
import json
import os
import platform
import shlex
import statistics
import sys
import tempfile
from importlib import metadata, util
from pathlib import Path

from child import Cost, run, run_watched
from machine import processor

UNIT = """
import sys, time
began = time.perf_counter()
lines = 0
for path in sys.argv[1:]:
    with open(path, "rb", buffering=0) as file:
        while block := file.read(1 << 20):
            lines += block.count(b"\\n")
print(time.perf_counter() - began, lines)
"""

HEADER = (
    "| what | wall s, median (min to max) | user + system s | unit s | units, median (min to max) "
    "| peak MiB, largest process | children | peak MiB, all together |"
)


class BenchError(Exception):
    """A measurement that cannot be made, in words for the person who asked for it."""


def say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def unit_seconds(paths: list[str]) -> float:
    """Seconds that one process needs to read the files by 1 MiB and count the newlines, start-up left out."""
    cost = run([sys.executable, "-I", "-c", UNIT, *paths])
    if cost.status != 0:
        raise BenchError(f"The files cannot be read: {cost.err.strip()}")
    return float(cost.out.split()[0])


def result_of(cost: Cost, command: list[str]) -> dict:
    """The JSON that `score` printed; anything but exit status 0 ends the measurement."""
    if cost.status != 0:
        words = (cost.err.strip() or cost.out.strip())[-800:]
        raise BenchError(f"`{shlex.join(command)}` ended with status {cost.status}:\n{words}")
    return json.loads(cost.out)


def score_command(options, workers: int | None, truth=None, submission=None, images=None) -> list[str]:
    command = [*shlex.split(options.command), "score", options.task]
    command += [str(truth or options.truth), str(submission or options.submission), "--json"]
    images = images or options.images
    if images:
        command += ["--images", str(images)]
    if workers:
        command += ["--workers", str(workers)]
    for setting in options.set:
        command += ["--set", setting]
    return command


def measure(options) -> tuple[list[str], list[Cost]]:
    """The table's lines, and the runs with the first worker count."""
    paths = [str(options.truth), str(options.submission)]
    commands = {workers: score_command(options, workers) for workers in options.workers}
    unit_seconds(paths)
    families, scores = {}, set()
    for workers, command in commands.items():
        say(f"warming up, workers {workers}")
        cost, families[workers] = run_watched(command)
        scores.add(result_of(cost, command)["score"])
    units = {workers: [] for workers in commands}
    costs = {workers: [] for workers in commands}
    for repetition in range(options.repeats):
        turn = list(commands) if repetition % 2 == 0 else list(commands)[::-1]
        for workers in turn:
            units[workers].append(unit_seconds(paths))
            cost = run(commands[workers])
            result = result_of(cost, commands[workers])
            scores.add(result["score"])
            costs[workers].append(cost)
            say(f"{repetition + 1}/{options.repeats}, workers {workers}: {cost.wall:.3f} s")
    if len(scores) > 1:
        raise BenchError(f"The runs do not agree on the score: {sorted(map(str, scores))}")
    lines = [HEADER, "|---" * (HEADER.count("|") - 1) + "|"]
    lines += [table_line(workers, units[workers], costs[workers], families[workers]) for workers in commands]
    lines += speed_up(costs)
    lines += ["", f"Score {scores.pop()}, counts {json.dumps(result.get('counts', {}))}."]
    return lines, costs[options.workers[0]]


def table_line(workers: int, units: list[float], costs: list[Cost], family) -> str:
    walls = [cost.wall for cost in costs]
    ratios = [cost.wall / unit for cost, unit in zip(costs, units, strict=True)]
    children = "?" if family is None else str(family.children)
    together = "?" if family is None else f"{family.together / 2**20:.0f}"
    return (
        f"| {workers} worker{'s' * (workers > 1)} | {middle(walls)} "
        f"| {statistics.median(cost.cpu for cost in costs):.3f} | {statistics.median(units):.4f} "
        f"| {middle(ratios, 2)} | {max(cost.peak for cost in costs) / 2**20:.0f} | {children} | {together} |"
    )


def speed_up(costs: dict[int, list[Cost]]) -> list[str]:
    """One line for each further worker count: how much faster than the first, pair by pair."""
    first, *others = costs
    lines = []
    for workers in others:
        ratios = [a.wall / b.wall for a, b in zip(costs[first], costs[workers], strict=True)]
        lines += ["", f"{workers} workers against {first}: {middle(ratios, 2)} times as fast."]
    return lines


def middle(values: list[float], places: int = 3) -> str:
    return f"{statistics.median(values):.{places}f} ({min(values):.{places}f} to {max(values):.{places}f})"


def images_of(path: Path) -> dict[str, None]:
    """The image ids of a table, in the order in which they first appear; only the first cell is looked at."""
    ids: dict[str, None] = {}
    with path.open("rb") as file:
        next(file)
        for line in file:
            ids[line.partition(b",")[0].decode()] = None
    return ids


def cut(source: Path, target: Path, ids: set[str]) -> None:
    """Copies the header and the rows of those images."""
    with source.open("rb") as file, target.open("wb") as kept:
        kept.write(next(file))
        kept.writelines(line for line in file if line.partition(b",")[0].decode() in ids)


def measure_peer(options, full: list[Cost]) -> list[str]:
    """Lines that set the usual pipeline beside segjudge on some of the images, and per image on all."""
    everything = images_of(options.truth)
    chosen = set(list(everything)[: options.peer_images])
    with tempfile.TemporaryDirectory() as folder:
        truth, submission = Path(folder, "truth.csv"), Path(folder, "submission.csv")
        cut(options.truth, truth, chosen)
        cut(options.submission, submission, chosen)
        images = None
        if options.images:
            images = Path(folder, "images.csv")
            cut(options.images, images, chosen)
        ours = score_command(options, options.workers[0], truth, submission, images)
        peer = [sys.executable, str(Path(__file__).with_name("peer_wad.py")), str(truth), str(submission)]
        walls, theirs, ratios = [], [], []
        for repetition in range(options.repeats):
            say(f"peer on {len(chosen)} images, {repetition + 1}/{options.repeats}")
            own_cost, peer_cost = run(ours), run(peer)
            own, other = result_of(own_cost, ours), result_of(peer_cost, peer)
            walls.append(own_cost.wall)
            theirs.append(other["seconds"])
            ratios.append(other["seconds"] / own_cost.wall)
    per_image = statistics.median(cost.wall for cost in full) / len(everything)
    peer_per_image = statistics.median(theirs) / len(chosen)
    slower = peer_per_image / per_image
    apart = abs((own["score"] or 0) - (other["score"] or 0))
    own_line = f"{middle(walls)} | {statistics.median(walls) / len(chosen) * 1e3:.3f} | {own['score']}"
    peer_line = f"{middle(theirs)} | {peer_per_image * 1e3:.3f} | {other['score']}"
    return [
        "",
        f"| {len(chosen)} images | s, median (min to max) | ms per image | score |",
        "|---|---|---|---|",
        f"| segjudge, whole process | {own_line} |",
        f"| csv + numpy.fromstring + pycocotools, imports left out | {peer_line} |",
        "",
        f"Same images, pair by pair: the pipeline takes {middle(ratios, 1)} times as long.",
        f"Per image, against segjudge's {per_image * 1e3:.3f} ms over all {len(everything)}: {slower:.1f} times.",
        f"The scores differ by {apart:.2g}.",
    ]


def check_peer(options) -> None:
    """Says what `--peer` lacks before any time is spent."""
    if options.task != "wad-2018":
        raise BenchError("--peer knows wad-2018 only.")
    if util.find_spec("pycocotools") is None or util.find_spec("numpy") is None:
        raise BenchError("--peer needs numpy and pycocotools: python -m pip install numpy pycocotools")


def surroundings(options) -> list[str]:
    """The machine and the versions, one line."""
    version = run([*shlex.split(options.command), "--version"])
    own = version.out.strip() if version.status == 0 else "segjudge (version unknown)"
    versions = [own, f"Python {platform.python_version()}"]
    for package in ("numpy", *(("pycocotools",) if options.peer else ())):
        try:
            versions.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            continue
    size = options.truth.stat().st_size + options.submission.stat().st_size
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    files = f"{options.task}, {size / 1e6:.1f} MB in two files, repetitions: {options.repeats}"
    machine = f"{processor()}, {os.cpu_count()} CPUs, load {load} at the start"
    return [f"{files}. {'; '.join(versions)}. {machine}.", ""]


def worker_counts(text: str) -> list[int]:
    counts = [int(part) for part in text.split(",")]
    if min(counts) < 1 or len(set(counts)) != len(counts):
        raise argparse.ArgumentTypeError("positive whole numbers, each once, such as 1,2")
    return counts


def parsed():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("task")
    parser.add_argument("truth", type=Path)
    parser.add_argument("submission", type=Path)
    parser.add_argument("--images", type=Path, help="handed to segjudge as its manifest")
    parser.add_argument("--workers", type=worker_counts, default=[1])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--command", default="segjudge", help="how segjudge is started here")
    parser.add_argument("--peer", action="store_true", help="also the usual pipeline on some of the images")
    parser.add_argument("--peer-images", type=int, default=200)
    options = parser.parse_args()
    if min(options.repeats, options.peer_images) < 1:
        parser.error("--repeats and --peer-images start at 1")
    for path in filter(None, (options.truth, options.submission, options.images)):
        if not path.is_file():
            parser.error(f"no such file: {path}")
    return options


def main() -> int:
    options = parsed()
    try:
        if options.peer:
            check_peer(options)
        heading = surroundings(options)
        lines, full = measure(options)
        print("\n".join(heading + lines), flush=True)
        if options.peer:
            print("\n".join(measure_peer(options, full)))
    except (BenchError, FileNotFoundError) as error:
        say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
