"""What the baselines reach on generated images that they never saw: a table of figures against bars.

    python bench/bars.py WORK [TASK …] [--init builtin|scratch] [--images N] [--steps N] [--seed 77] [--art drawn|fonts]

For each task: a set to learn from and a test set with seeds of their own (emoji: kinds and glyphs of the part
`test` in the test set alone), training from the shipped weights for some minutes on one thread, prediction, and
the score that `segjudge score` gives. For nuclei also what Otsu's threshold and a watershed on distance reach,
and the real picture that comes with the package stardist.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from PIL import Image
from scipy import ndimage
from skimage.feature import peak_local_max
from skimage.filters import gaussian, threshold_otsu
from skimage.segmentation import watershed

from segjudge.data import make
from segjudge.datasets import open_dataset
from segjudge.encoding import write_submission
from segjudge.images import Images
from segjudge.loading import read_submission, read_truth
from segjudge.scoring import score
from segjudge.task import load_task


class Size(NamedTuple):
    """How much a measurement learns from, how long, and what it should reach."""

    images: int
    steps: int
    bar: float | None


#: Test images; sizes from the shipped weights and from scratch, each within a thousand processor seconds.
TASKS = {
    "emoji": (120, {"builtin": Size(400, 800, 0.80), "scratch": Size(2000, 4000, 0.72)}),
    "badlad": (40, {"builtin": Size(120, 900, 0.94), "scratch": Size(120, 1800, None)}),
    "dsb-2018": (40, {"builtin": Size(160, 300, 0.76), "scratch": Size(160, 1500, None)}),
    "wad-2018": (40, {"builtin": Size(150, 1500, 0.14), "scratch": Size(150, 2000, None)}),
}


def processor_seconds(command: list[str]) -> float:
    """Run a command on one thread; the processor time it took, all its children's included."""
    before = os.times()
    subprocess.run(command, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def segjudge(*words: object) -> list[str]:
    return [sys.executable, "-m", "segjudge", *map(str, words)]


def measure(task_id: str, work: Path, asked: argparse.Namespace) -> dict[str, object]:
    tests, sizes = TASKS[task_id]
    size = sizes[asked.init]
    steps = asked.steps or size.steps
    art = asked.art if task_id in {"emoji", "badlad"} else "drawn"
    folder = work / f"{task_id}-{asked.init}-{art}-{asked.seed}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    make(
        task_id, folder / "learn", images=asked.images or size.images, seed=asked.seed, art=art, part="train"
    )
    make(task_id, folder / "test", images=tests, seed=asked.seed + 1, art=art, part="test")
    begun = time.monotonic()
    trained = processor_seconds(
        segjudge("train", task_id, folder / "learn", "-o", folder / "run", "--init", asked.init, "--steps", steps,
                 "--epochs", 4, "--threads", 1, "--folds", 8, "--validation", 16, "--seed", asked.seed)
    )  # fmt: skip
    target = folder / ("submission.zip" if task_id == "emoji" else "submission.csv")
    predicted = processor_seconds(
        segjudge("predict", task_id, folder / "run", folder / "test", "-o", target, "--threads", 1)
    )
    result = score_of(task_id, folder / "test", target)
    figures: dict[str, object] = {
        "task": task_id,
        "art": art,
        "init": asked.init,
        "seed": asked.seed,
        "images": asked.images or size.images,
        "steps": steps,
        "train_cpu_s": round(trained),
        "predict_cpu_s": round(predicted),
        "wall_s": round(time.monotonic() - begun),
        "validation": json.loads((folder / "run" / "run.json").read_text())["metric"],
        "score": result,
        "bar": size.bar,
    }
    if task_id == "dsb-2018":
        figures |= nuclei(folder)
    return figures


def score_of(task_id: str, truth: Path, submission: Path) -> float | None:
    task = load_task(task_id)
    return score(task, read_truth(task, truth), read_submission(task, submission)).score


def nuclei(folder: Path) -> dict[str, object]:
    """Otsu and watershed on the test set, and both on the real picture."""
    task = load_task("dsb-2018")
    dataset = open_dataset(task, folder / "test", need_truth=False)
    classical = folder / "otsu.csv"
    with write_submission(task, classical) as out:
        for place, image in enumerate(dataset.image_ids):
            out.add(image, otsu_watershed(dataset.picture(place)))
    figures: dict[str, object] = {"otsu_watershed": score_of("dsb-2018", folder / "test", classical)}
    return figures | real_nuclei(folder)


def otsu_watershed(picture: np.ndarray) -> np.ndarray:
    """(H, W) labels: Otsu's threshold on grey, cut along the distance from its outline."""

    grey = gaussian(picture.mean(axis=2), 1)
    bright = grey > threshold_otsu(grey)
    if bright.mean() > 0.5:
        bright = ~bright
    away = ndimage.gaussian_filter(ndimage.distance_transform_edt(bright), 1)
    peaks = peak_local_max(away, min_distance=5, labels=ndimage.label(bright)[0])
    markers = np.zeros(grey.shape, np.int32)
    markers[tuple(peaks.T)] = np.arange(1, len(peaks) + 1)
    return watershed(-away, markers, mask=bright).astype(np.int32)


def real_nuclei(folder: Path) -> dict[str, object]:
    """The score on the one real picture of nuclei that stardist's package carries."""

    found = find_spec("stardist")
    if found is None or found.origin is None:
        return {}
    images = Path(found.origin).parent / "data" / "images"
    values = np.asarray(Image.open(images / "img2d.tif")).astype(np.float64)
    labels = np.asarray(Image.open(images / "mask2d.tif")).astype(np.uint16)
    low, high = np.percentile(values, [0.1, 99.9])
    grey = np.clip((values - low) / (high - low) * 255, 0, 255).astype(np.uint8)
    (folder / "real" / "pictures").mkdir(parents=True)
    (folder / "real" / "truth").mkdir()
    Image.fromarray(np.stack([grey] * 3, axis=2)).save(folder / "real" / "pictures" / "img2d.png")
    Image.fromarray(labels).save(folder / "real" / "truth" / "img2d.png")
    target = folder / "real" / "submission.csv"
    processor_seconds(
        segjudge(
            "predict", "dsb-2018", folder / "run", folder / "real" / "pictures", "-o", target, "--threads", 1
        )
    )
    task = load_task("dsb-2018")
    truth = read_truth(task, folder / "real" / "truth")
    net = score(task, truth, read_submission(task, target)).score
    classical = folder / "real" / "otsu.csv"
    with write_submission(task, classical, Images.of(["img2d"], np.array([grey.shape]))) as out:
        out.add("img2d", otsu_watershed(np.stack([grey] * 3, axis=2)))
    return {"real": net, "real_otsu_watershed": score(task, truth, read_submission(task, classical)).score}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("tasks", nargs="*")
    parser.add_argument("--init", default="builtin", choices=("builtin", "scratch"))
    parser.add_argument("--seed", type=int, default=77)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--images", type=int, help="images to learn from")
    parser.add_argument("--art", default="drawn")
    asked = parser.parse_args()
    for task_id in asked.tasks or TASKS:
        figures = measure(task_id, asked.work, asked)
        print(json.dumps(figures), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
