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
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import competitions
import environment
import figures
import page
import parts
import workloads
from measuring import BenchError, clock, say
from parts import Table

PARTS = ("coco", "coco-large", "coco-no-boxes", "curve", "wad-small", "wad", "badlad", "dsb", "masks")
FULL = "python bench/peers --out docs/benchmark.md"


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


@dataclass(slots=True)
class Outcome:
    """What a run found: the tables, and why parts of it gave none."""

    tables: list[Table] = field(default_factory=list)
    stopped: dict[str, str] = field(default_factory=dict)  # part: the reason


def measured(options, peers: environment.Environment, bandwidth: float) -> Outcome:
    """Every table that was asked for; a part whose tools do not agree stops, and the next begins."""
    outcome = Outcome()
    for part in options.parts:
        began = time.monotonic()
        try:
            for table in tables_of(part, options, peers, bandwidth):
                outcome.tables.append(table)
        except BenchError as error:
            say(f"{part} stopped: {error}")
            outcome.stopped[part] = str(error)
        say(f"{part}: {time.monotonic() - began:.0f} s")
    return outcome


def tables_of(part: str, options, peers: environment.Environment, bandwidth: float) -> Iterable[Table]:
    """The tables of one part, each as soon as it is measured."""
    sizes, work = QUICK if options.quick else Sizes(), options.work
    counts = (1,) if options.cpu else thread_counts()
    effort = parts.Effort(options.rounds, options.repeats, options.seed, counts)
    single = replace(effort, threads=(1,))
    notebook = dict(zip(("wad-2018", "badlad", "dsb-2018"), sizes.samples, strict=True))

    def tables(pair: workloads.Pair, *, rounds: int, with_notebook: bool = True) -> Iterable[Table]:
        sample = workloads.first_images(pair, work, notebook[pair.task]) if with_notebook else None
        return competitions.tables(pair, sample, effort, peers, usual_rounds=rounds)

    match part:
        case "coco":
            yield from parts.coco(workloads.coco(work, sizes.coco), effort, peers)
        case "coco-large":
            yield from parts.coco(workloads.coco(work, sizes.coco_large), effort, peers)
        case "coco-no-boxes":
            pair = workloads.coco(work, sizes.coco, boxes=False)
            yield from parts.coco(pair, single, peers, shell=False)
        case "curve":
            for images in sizes.curve:
                yield from parts.coco(workloads.coco(work, images), single, peers, shell=False)
        case "wad-small":
            yield from tables(workloads.wad(work, sizes.wad_small), rounds=3)
        case "wad":
            alone = "wad-small" not in options.parts
            yield from tables(workloads.wad(work, sizes.wad), rounds=1, with_notebook=alone)
        case "badlad":
            yield from tables(workloads.badlad(work, sizes.badlad), rounds=2)
        case "dsb":
            yield from tables(workloads.dsb(work, sizes.dsb), rounds=3)
        case "masks":
            yield from parts.masks(work, effort, peers, bandwidth)


def thread_counts() -> tuple[int, ...]:
    """1, 2, and doubled as far as there are CPUs."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return tuple(count for count in (1, 2, 4, 8, 16) if count <= there)


def draw(tables: list[Table], peers: environment.Environment, picture: Path, work: Path) -> bool:
    """Draws the picture beside the page; False where there is nothing to draw, or nothing to draw with."""
    shown = figures.figures(tables)
    if not any(shown.values()) or "matplotlib" not in peers.versions:
        return False
    place = work / "figures.json"
    place.write_text(json.dumps(shown))
    picture.parent.mkdir(parents=True, exist_ok=True)
    script = Path(__file__).with_name("plots.py")
    command = [peers.python, str(script), str(place), str(picture)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        say(f"no picture: {done.stderr.strip()}")
    return not done.returncode


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
    parser.add_argument("--rounds", type=int, help="processes of each tool")
    parser.add_argument("--repeats", type=int, help="within a round's process")
    parser.add_argument("--seed", type=int, help="of the order")
    options = parser.parse_args()
    for name, value in effort_of(quick=options.quick).items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    options.parts = options.parts.split(",")
    clock.cpu = options.cpu
    unknown = sorted(set(options.parts) - set(PARTS))
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}")
    return options


def command_of(options) -> str:
    """What was asked for, without the places of files."""
    words = [FULL]
    words += [f"--{name}" for name in ("quick", "cpu") if getattr(options, name)]
    if options.parts != list(PARTS):
        words.append(f"--parts {','.join(options.parts)}")
    if options.leave_out:
        words.append(f"--leave-out {options.leave_out}")
    usual = effort_of(quick=options.quick)
    words += [
        f"--{name} {asked}" for name, value in usual.items() if (asked := getattr(options, name)) != value
    ]
    return " ".join(words)


def effort_of(*, quick: bool) -> dict[str, int]:
    """Rounds, repetitions within one, and the seed, unless told."""
    return {"rounds": 2, "repeats": 2, "seed": 1} if quick else {"rounds": 4, "repeats": 3, "seed": 1}


def main() -> int:
    options = parsed()
    options.work.mkdir(parents=True, exist_ok=True)
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
    environment.compile_own()
    peers = environment.prepared(options.environment or options.work / "environment", fresh=options.fresh)
    for name in options.leave_out.split(","):
        if peers.versions.pop(name, None):
            peers.missing[name] = "left out of this run"
    began, bystanders = time.monotonic(), environment.Bystanders()
    bandwidth = environment.bandwidth(peers.python)
    outcome = measured(options, peers, bandwidth)
    seconds = time.monotonic() - began
    account = page.Account(command_of(options), FULL, seconds, bystanders.cpus(), bandwidth, outcome.stopped)
    picture = options.out and options.out.parent / "pictures" / "benchmark.png"
    drawn = picture is not None and draw(outcome.tables, peers, picture, options.work)
    text = page.written(outcome.tables, peers, account, drawn=drawn)
    if options.out is None:
        print(text, end="")
    else:
        options.out.write_text(text, encoding="utf-8")
    say(f"done in {seconds:.0f} s")
    return 1 if outcome.stopped else 0


if __name__ == "__main__":
    sys.exit(main())
