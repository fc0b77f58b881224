"""The files that are measured, made once from seeds and kept in the work folder."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))
import make_coco

BENCH = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Pair:
    """A truth and a submission, and what they are called in the tables."""

    title: str
    task: str
    truth: Path
    submission: Path
    images: int
    boxes: bool = True  # COCO's results carry them
    sample: bool = False  # of a larger pair

    @property
    def size(self) -> int:
        """Bytes of both files."""
        return self.truth.stat().st_size + self.submission.stat().st_size


def coco(work: Path, images: int, *, boxes: bool = True) -> Pair:
    folder = work / f"coco-{images}{'' if boxes else '-no-boxes'}"
    _make("make_coco.py", folder, "--images", images, *(() if boxes else ("--no-boxes",)))
    title = f"COCO, {images:,} images" + ("" if boxes else ", results without boxes")
    return Pair(title, "coco", folder / "annotations.json", folder / "results.json", images, boxes)


def wad(work: Path, images: int) -> Pair:
    folder = work / f"wad-{images}"
    share = images / 1917
    _make(
        "make_wad.py", folder, "--images", images,
        "--truths", round(30_000 * share), "--predictions", round(60_000 * share),
    )  # fmt: skip
    return _tables(f"WAD, {images:,} images", "wad-2018", folder, images)


def badlad(work: Path, rows: int) -> Pair:
    folder = work / f"badlad-{rows}"
    _make("make_badlad.py", folder, "--rows", rows)
    return _tables(f"BaDLAD, {rows:,} rows", "badlad", folder, rows // 4)


def dsb(work: Path, images: int) -> Pair:
    folder = work / f"dsb-{images}"
    _make("make_dsb.py", folder, "--images", images)
    return _tables(f"DSB, {images:,} images", "dsb-2018", folder, images)


def _tables(title: str, task: str, folder: Path, images: int, *, sample: bool = False) -> Pair:
    return Pair(title, task, folder / "truth.csv", folder / "submission.csv", images, sample=sample)


def _make(script: str, folder: Path, *options) -> None:
    """Run a generator of bench/ unless its folder is whole already."""
    done = folder / "done"
    if done.exists():
        return
    print(f"making {folder.name}", file=sys.stderr, flush=True)
    command = [sys.executable, str(BENCH / script), str(folder), *map(str, options)]
    subprocess.run(command, check=True, stdout=sys.stderr)
    done.touch()


def first_images(pair: Pair, work: Path, count: int) -> Pair:
    """The rows of a table pair's first so many images, in a folder of their own."""
    folder = work / f"{pair.truth.parent.name}-first-{count}"
    folder.mkdir(parents=True, exist_ok=True)
    chosen: dict[bytes, None] = {}
    with pair.truth.open("rb") as file:
        next(file)
        for line in file:
            image = _image(line, pair.task)
            if image not in chosen and len(chosen) == count:
                break
            chosen[image] = None
    for path in (pair.truth, pair.submission):
        with path.open("rb") as file, (folder / path.name).open("wb") as kept:
            kept.write(next(file))
            kept.writelines(line for line in file if _image(line, pair.task) in chosen)
    noun = "page" if pair.task == "badlad" else "image"
    title = f"{pair.title}: the first {noun if count == 1 else f'{count} {noun}s'}"
    return _tables(title, pair.task, folder, count, sample=True)


def _image(line: bytes, task: str) -> bytes:
    cell = line.partition(b",")[0]
    return cell.rpartition(b"_")[0] if task == "badlad" else cell


def masks(work: Path, height: int, width: int, count: int) -> Path:
    """A .npy of blobs like a model's answer: bool (N, height, width)."""
    path = work / f"masks-{height}x{width}.npy"
    if not path.exists():
        rng = np.random.default_rng(5)
        drawn = np.zeros((count, height, width), bool)
        for mask in drawn:
            radius = rng.uniform(0.1, 0.4) * height
            angle = np.linspace(0, 2 * np.pi, make_coco.ANGLES, endpoint=False)
            reach = 1 + make_coco.waves(rng, angle, range(1, 60, 2), 0.05)
            y, x = np.mgrid[:height, :width]
            y, x = y - rng.uniform(0.3, 0.7) * height, x - rng.uniform(0.3, 0.7) * width
            place = (np.arctan2(y, x) * (make_coco.ANGLES / (2 * np.pi))).astype(np.int64) % make_coco.ANGLES
            mask[:] = x * x + y * y < (radius * reach[place]) ** 2
        np.save(path, drawn)
    return path


def crowded_image(work: Path, height: int = 2710, width: int = 3384) -> Path:
    """One image's 40 truths and 60 predictions, as COCO's texts."""
    path = work / "one-image.json"
    if not path.exists():
        maker = make_coco.Maker(7)
        rng, sides = maker.rng, ([], [])
        large = [shape for shape in maker.pool if 40 < shape.half < 400]
        for number in range(60):
            shape = large[int(rng.integers(len(large)))]
            x, y = int(rng.integers(200, width - 200)), int(rng.integers(1560, 2280))
            for side, moved in ((0, 0), (1, int(rng.integers(-9, 9)))):
                if side or number < 40:
                    runs = shape.predicted[int(rng.integers(make_coco.PREDICTED))]
                    sides[side].append(make_coco.counts_at(runs, x + moved, y + moved, height, width))
        truths, predictions = map(make_coco.text_of_counts, sides)
        path.write_text(json.dumps({"size": [height, width], "truths": truths, "predictions": predictions}))
    return path
