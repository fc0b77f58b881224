"""Trains the weights that ship with segjudge: generated data in, `src/segjudge/models/builtin/` out.

    python bench/builtin_weights.py TASK WORK [--pack-only]

WORK keeps the data and the run, so that a stopped run goes on. One thread; with the libraries noted in the
weights' own header the same weights come out. Emoji and Bengali faces come from the fonts that Debian packages
(fonts-noto-color-emoji, fonts-noto-core), both under the SIL Open Font License; glyphs and faces of the part
`test` are never seen.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from segjudge.data import scenes, write_set
from segjudge.models.building import load_weights, save_weights
from segjudge.models.nets import build_net
from segjudge.models.recipes import recipe_for
from segjudge.models.rules import class_ids_of
from segjudge.models.runs import Plan, Run
from segjudge.models.training import Progress, train
from segjudge.task import load_task

TARGET = Path(__file__).parents[1] / "src" / "segjudge" / "models" / "builtin"


@dataclass(frozen=True)
class Source:
    """Data and length of a task's run."""

    sets: tuple[tuple[str, str, int, int], ...]  # art, part, images, seed
    steps: int
    epochs: int
    validation: int
    init: str = "scratch"


SOURCES = {
    "emoji": Source((("drawn", "train", 3000, 910001), ("fonts", "train", 4500, 910002)), 5000, 8, 48),
    "badlad": Source((("drawn", "train", 260, 910001), ("fonts", "train", 240, 910002)), 1200, 6, 16),
    "dsb-2018": Source((("drawn", "all", 600, 910001),), 800, 5, 16),
    "wad-2018": Source((("drawn", "all", 500, 910001),), 2600, 5, 10, "emoji"),
}


def make_data(task_id: str, folder: Path) -> None:
    """Write the task's sets into one folder, unless that was done before."""
    if folder.exists():
        return
    parts = SOURCES[task_id].sets
    every = (
        scene
        for art, part, images, seed in parts
        for scene in scenes(task_id, images=images, seed=seed, art=art, part=part)
    )
    partial = folder.with_name(folder.name + ".part")
    write_set(task_id, partial, every)
    partial.rename(folder)


def plan_of(task_id: str) -> Plan:
    source = SOURCES[task_id]
    init = source.init if source.init == "scratch" else str(TARGET / f"{source.init}.safetensors")
    return Plan(
        task=task_id, init=init, steps=source.steps, epochs=source.epochs, validation=source.validation,
        folds=20, seed=1, threads=1,
    )  # fmt: skip


def show(progress: Progress) -> None:
    if progress.note or progress.epoch:
        print(progress.note or progress.epoch, flush=True)
    elif progress.step % 200 == 0:
        print(progress.step, progress.steps, round(progress.loss, 3), round(progress.seconds), flush=True)


def pack(task_id: str, run: Run) -> None:
    """Copy the run's best weights, in 16 bits, with where they come from, and note their hash."""
    record = run.read()
    task, recipe = load_task(task_id), recipe_for(task_id)
    classes = class_ids_of(task, recipe)
    net = build_net("small", recipe, len(classes) if recipe.kind == "semantic" else len(classes) + 5)
    load_weights(net, run.weights)
    notes = {
        "task": task_id,
        "command": f"python bench/builtin_weights.py {task_id} WORK",
        "data": [
            dict(zip(("art", "part", "images", "seed"), one, strict=True)) for one in SOURCES[task_id].sets
        ],
        "plan": record["plan"] | {"init": SOURCES[task_id].init},
        "versions": record["versions"],
        "fingerprint": record["fingerprint"],
        "metric": record.get("metric"),
        "licence": "Apache-2.0; fonts used in the training data: SIL Open Font License 1.1",
    }
    TARGET.mkdir(exist_ok=True)
    path = TARGET / f"{task_id}.safetensors"
    save_weights(net, path, half=True, notes=notes)
    listed = TARGET / "builtin.json"
    known = json.loads(listed.read_text("utf-8")) if listed.exists() else {}
    known[task_id] = {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), **notes}
    listed.write_text(json.dumps(dict(sorted(known.items())), indent=2) + "\n", "utf-8")
    print(path.name, path.stat().st_size, known[task_id]["sha256"], notes["metric"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=SOURCES)
    parser.add_argument("work", type=Path)
    parser.add_argument("--pack-only", action="store_true")
    asked = parser.parse_args()
    data, run = asked.work / asked.task / "data", Run(asked.work / asked.task / "run")
    if not asked.pack_only:
        data.parent.mkdir(parents=True, exist_ok=True)
        make_data(asked.task, data)
        train(load_task(asked.task), data, run.folder, plan_of(asked.task), resume=run.exists(), report=show)
    pack(asked.task, run)
    return 0


if __name__ == "__main__":
    sys.exit(main())
