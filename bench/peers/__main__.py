"""Measures segjudge beside its peers and writes the page of the documentation.

    python bench/peers [--quick] [--out docs/benchmark.md]

Run it with the Python that has segjudge. The peers are installed into an environment of their own, below the
work folder, where the measured files stay, too (2 GB; --quick: 50 MB).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import environment
import page
import parts
import workloads
from measuring import BenchError, clock, say
from parts import Effort, Table

COCO_PARTS = ("coco", "coco-large", "coco-no-boxes", "curve")
PARTS = (*COCO_PARTS, "wad", "wad-small", "badlad", "dsb", "masks")


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large the files are."""

    coco: int = 1000
    coco_large: int = 5000
    curve: tuple[int, ...] = (250, 2500)
    wad: int = 1917
    wad_small: int = 200
    badlad: int = 4000
    dsb: int = 670
    samples: tuple[int, int, int] = (2, 10, 10)  # images of the notebook's WAD, BaDLAD and DSB


QUICK = Sizes(100, 200, (50,), 40, 20, 200, 40, (1, 2, 2))


def measured(options, peers: environment.Environment) -> list[Table]:
    """Every table that was asked for."""
    sizes = QUICK if options.quick else Sizes()
    work, chosen = options.work, options.parts
    counts = (1,) if options.cpu else thread_counts()
    effort = Effort(options.rounds, options.repeats, options.seed, counts)
    single = Effort(effort.rounds, effort.repeats, effort.seed, (1,))
    results: list[Table] = []
    if "coco" in chosen:
        results += parts.coco(workloads.coco(work, sizes.coco), effort, peers)
    if "coco-large" in chosen:
        results += parts.coco(workloads.coco(work, sizes.coco_large), effort, peers)
    if "coco-no-boxes" in chosen:
        results += parts.coco(workloads.coco(work, sizes.coco, boxes=False), single, peers, shell=False)
    if "curve" in chosen:
        for images in sizes.curve:
            results += parts.coco(workloads.coco(work, images), single, peers, shell=False)
    wad, badlad, dsb = sizes.samples
    for name, images, usual in (("wad-small", sizes.wad_small, 3), ("wad", sizes.wad, 1)):
        if name in chosen:
            pair = workloads.wad(work, images)
            sample = workloads.first_images(pair, work, wad)
            found = list(parts.tables(pair, sample, effort, peers, usual_rounds=usual))
            results += found if name == "wad-small" or "wad-small" not in chosen else found[:1]
    if "badlad" in chosen:
        pair = workloads.badlad(work, sizes.badlad)
        sample = workloads.first_images(pair, work, badlad)
        results += parts.tables(pair, sample, effort, peers, usual_rounds=2)
    if "dsb" in chosen:
        pair = workloads.dsb(work, sizes.dsb)
        sample = workloads.first_images(pair, work, dsb)
        results += parts.tables(pair, sample, effort, peers, usual_rounds=3)
    if "masks" in chosen:
        results += parts.masks(work, effort, peers)
    return results


def thread_counts() -> tuple[int, ...]:
    """1, 2, and doubled as far as there are CPUs."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return tuple(count for count in (1, 2, 4, 8, 16) if count <= there)


def draw(results: list[Table], peers: environment.Environment, picture: Path, work: Path) -> bool:
    """Draws the picture beside the page; False where a line would have a single point."""
    lines: dict[str, list] = {}
    by_threads: dict[str, list] = {}
    for table in results:
        pair = table.pair
        if pair is None:
            continue
        if pair.task == "coco" and table.kind == "in process":
            if table.threads == 1 and "without" not in table.title:
                for tool, timing in table.timings.items():
                    lines.setdefault(tool, []).append((pair.images, timing.seconds))
            own = page.baseline(table)
            by_threads.setdefault(table.title, []).append((table.threads, own.seconds))
        elif pair.task != "coco":
            points = [
                (int(name.split()[1]), timing.seconds)
                for name, timing in table.timings.items()
                if name.startswith("segjudge")
            ]
            by_threads[table.title] = points
    figures = {
        "work": {tool: sorted(points) for tool, points in lines.items()},
        "threads": {
            title: points for title, points in by_threads.items() if len(points) > 1 and "small" not in title
        },
    }
    if max(map(len, figures["work"].values()), default=0) < 2:
        return False
    place = work / "figures.json"
    place.write_text(json.dumps(figures))
    picture.parent.mkdir(parents=True, exist_ok=True)
    script = Path(__file__).with_name("plots.py")
    subprocess.run([peers.python, str(script), str(place), str(picture)], check=True)
    return True


def parsed():
    parser = argparse.ArgumentParser(
        prog="python bench/peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small files and few rounds: does it all work?")
    parser.add_argument("--out", type=Path, help="the page; standard output unless told")
    default = Path(tempfile.gettempdir(), "segjudge-bench")
    parser.add_argument("--work", type=Path, default=default, help="keeps files and environment")
    parser.add_argument(
        "--environment", type=Path, help="the peers' environment, unless below the work folder"
    )
    parser.add_argument("--fresh", action="store_true", help="ask for newer releases of the peers")
    parser.add_argument("--parts", default=",".join(PARTS), help="comma-separated: %(default)s")
    parser.add_argument(
        "--cpu", action="store_true", help="CPU seconds of one thread: the machine is not quiet"
    )
    parser.add_argument("--leave-out", default="", help="peers that are not measured, comma-separated")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--repeats", type=int, help="within a round's process")
    parser.add_argument("--seed", type=int, default=1, help="of the order")
    options = parser.parse_args()
    options.rounds = options.rounds or (2 if options.quick else 4)
    options.repeats = options.repeats or (2 if options.quick else 3)
    options.parts = options.parts.split(",")
    clock.cpu = options.cpu
    unknown = sorted(set(options.parts) - set(PARTS))
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}")
    return options


def main() -> int:
    options = parsed()
    options.work.mkdir(parents=True, exist_ok=True)
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
    began, load = time.monotonic(), environment.load()
    try:
        environment.compile_own()
        peers = environment.prepared(options.environment or options.work / "environment", fresh=options.fresh)
        for name in options.leave_out.split(","):
            if peers.versions.pop(name, None):
                peers.missing[name] = "left out of this run"
        bandwidth = environment.bandwidth(peers.python)
        results = measured(options, peers)
    except BenchError as error:
        say(str(error))
        return 1
    if options.out is None:
        print(page.written(results, peers, load, bandwidth, drawn=False))
    else:
        drawn = draw(results, peers, options.out.parent / "pictures" / "benchmark.png", options.work)
        text = page.written(results, peers, load, bandwidth, drawn=drawn)
        options.out.write_text(text, encoding="utf-8")
    say(f"done in {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
