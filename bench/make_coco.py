"""Writes annotations.json and results.json as COCO has them, from a seed.

    python bench/make_coco.py FOLDER --images 1000 --seed 1 [--no-boxes]

36 results an image. README.md says what is drawn.
"""

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

SHAPES = 1500  # outlines; each is drawn once for the truth and as often as PREDICTED, roughened, for results
PREDICTED = 3
ANGLES = 720
RESULTS = 36  # of an image
SIZES = np.array([(480, 640), (640, 480), (427, 640), (500, 375)])  # height, width
SIZE_SHARES = np.array([0.55, 0.15, 0.2, 0.1])
CLASSES = np.array([n for n in range(1, 91) if n not in {12, 26, 29, 30, 45, 66, 68, 69, 71, 83}])
CROWDS = 0.012
SPLIT = 0.15  # of the truths come in two parts, as behind a pole


@dataclass(frozen=True)
class Shape:
    """A blob: its outline for the truth, and masks (columns first) for predictions, all around (0, 0)."""

    outline: object  # (n, 2) x and y
    half: int  # columns and rows to each side of the middle
    predicted: list  # counts of runs in a box of 2 * half + 1 columns: column, row, length


def shapes(rng) -> list[Shape]:
    """The pool that all objects are taken from."""
    return [shape(rng, radius) for radius in np.clip(rng.lognormal(np.log(30), 0.8, SHAPES), 5, 180)]


def shape(rng, radius: float) -> Shape:
    angle = np.linspace(0, 2 * np.pi, ANGLES, endpoint=False)
    smooth = 1 + waves(rng, angle, range(1, 8), 0.16)
    corners = np.linspace(0, ANGLES, int(np.clip(radius, 9, 45)), endpoint=False).astype(int)
    reach = radius * np.clip(smooth, 0.3, 1.9)
    outline = np.stack([np.cos(angle) * reach, np.sin(angle) * reach], axis=1)[corners]
    predicted = []
    for _ in range(PREDICTED):
        rough = smooth * (1 + waves(rng, angle, range(2, 60, 3), 0.025)) * rng.normal(1, 0.03)
        predicted.append(drawn(radius * np.clip(rough, 0.3, 2), radius))
    return Shape(outline, int(2 * radius) + 1, predicted)


def waves(rng, angle, numbers, height: float):
    total = np.zeros(len(angle))
    for number in numbers:
        total += rng.normal(0, height / np.sqrt(number)) * np.cos(number * angle + rng.uniform(0, 2 * np.pi))
    return total


def drawn(reach, radius: float):
    """The runs down the columns of the blob with this reach at each angle, around the middle."""
    half = int(2 * radius) + 1
    side = np.arange(-half, half + 1)
    x, y = np.meshgrid(side, side, indexing="ij")  # a line of the array is a column of the picture
    place = (np.arctan2(y, x) * (ANGLES / (2 * np.pi))).astype(np.int64) % ANGLES
    inside = np.zeros((len(side), len(side) + 2), np.int8)
    inside[:, 1:-1] = x * x + y * y < reach[place] ** 2
    changes = np.diff(inside, axis=1)
    columns, starts = np.nonzero(changes == 1)
    stops = np.nonzero(changes == -1)[1]
    return np.stack([columns - half, starts - half, stops - starts], axis=1)


def counts_at(runs, x: int, y: int, height: int, width: int):
    """COCO's counts of runs moved to (x, y) in a picture; what lies outside is cut off."""
    columns, first = runs[:, 0] + x, runs[:, 1] + y
    stop = np.minimum(first + runs[:, 2], height)
    first = np.maximum(first, 0)
    kept = (columns >= 0) & (columns < width) & (stop > first)
    starts, stops = (columns * height + first)[kept], (columns * height + stop)[kept]
    head = np.ones(len(starts), bool)
    head[1:] = starts[1:] > stops[:-1]
    tail = np.append(head[1:], True)[: len(stops)]
    edges = np.stack([starts[head], stops[tail]], axis=1).reshape(-1)
    counts = np.diff(edges, prepend=0, append=height * width)
    return counts[:-1] if counts[-1] == 0 else counts


def text_of_counts(all_counts) -> list[str]:
    """COCO's text of many masks' counts."""
    bounds = np.cumsum([len(counts) for counts in all_counts])
    counts = np.concatenate(all_counts)
    heads = np.concatenate([[0], bounds[:-1]])
    values = counts.copy()
    values[2:] -= counts[:-2]
    for place in range(3):  # the first three numbers stand as they are
        at = heads + place
        at = at[at < bounds]
        values[at] = counts[at]
    signs = np.ones(len(values), np.int64)
    for more in range(1, 6):
        limit = 1 << (5 * more - 1)
        signs += (values < -limit) | (values >= limit)
    ends = np.cumsum(signs)
    place = np.arange(ends[-1]) - np.repeat(ends - signs, signs)
    bits = (np.repeat(values, signs) >> (5 * place)) & 31
    bits |= (place + 1 < np.repeat(signs, signs)) * 32
    text = (bits + 48).astype(np.uint8).tobytes().decode("ascii")
    stops = ends[bounds - 1].tolist()
    return [text[a:b] for a, b in zip([0, *stops[:-1]], stops, strict=True)]


class Maker:
    """The entries of both files, image by image."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.pool = shapes(self.rng)
        weights = 1 / np.arange(1, len(CLASSES) + 1) ** 0.8
        self.class_shares = self.rng.permutation(weights / weights.sum())
        self.next_id = 1

    def image(self, number: int):
        """The entry of an image, its annotations, and its results as pairs of entry and counts."""
        rng = self.rng
        height, width = (int(side) for side in SIZES[rng.choice(len(SIZES), p=SIZE_SHARES)])
        count = min(int(rng.geometric(1 / 7.3)), 40)
        classes = rng.choice(CLASSES, max(1, count // 2), p=self.class_shares)
        annotations, places = [], []
        for _ in range(count):
            kind = int(rng.integers(SHAPES))
            x, y = int(rng.integers(width)), int(rng.integers(height))
            class_id = int(rng.choice(classes))
            annotations.append(self.annotation(number, class_id, self.pool[kind], x, y, height, width))
            places.append((kind, x, y, class_id))
        image = {
            "license": 1,
            "file_name": f"{number:012}.jpg",
            "height": height,
            "width": width,
            "id": number,
        }
        return image, annotations, self.results(number, places, height, width)

    def annotation(self, number: int, class_id: int, blob: Shape, x: int, y: int, height: int, width: int):
        rng, crowd = self.rng, int(self.rng.random() < CROWDS)
        points = np.clip(blob.outline + np.array((x + 0.5, y + 0.5)), 0, (width, height)).round(2)
        if crowd:
            counts = counts_at(blob.predicted[0], x, y, height, width)
            segmentation = {"counts": counts.tolist(), "size": [height, width]}
            area = float(counts[1::2].sum())
        elif rng.random() < SPLIT:
            gap = max(blob.outline[:, 0].max() * 0.1, 1)
            left, right = points.copy(), points.copy()
            left[:, 0], right[:, 0] = np.minimum(left[:, 0], x - gap), np.maximum(right[:, 0], x + gap)
            parts = [part for part in (left, right) if part[:, 0].min() >= 0 and np.ptp(part[:, 0]) > 0]
            parts = parts or [points]
            segmentation = [part.reshape(-1).tolist() for part in parts]
            area = sum(polygon_area(part) for part in parts)
        else:
            segmentation, area = [points.reshape(-1).tolist()], polygon_area(points)
        low, high = points.min(axis=0), points.max(axis=0)
        self.next_id += int(rng.integers(1, 400))
        return {
            "segmentation": segmentation,
            "area": round(area, 4),
            "iscrowd": crowd,
            "image_id": number,
            "bbox": [round(float(value), 2) for value in (*low, *(high - low))],
            "category_id": class_id,
            "id": self.next_id,
        }

    def results(self, number: int, places, height: int, width: int):
        """Two results near most truths, and false alarms, half of them of classes that are not there."""
        rng, found = self.rng, []
        for kind, x, y, class_id in places:
            for _ in range(int(rng.choice([0, 1, 2, 3], p=[0.1, 0.35, 0.35, 0.2]))):
                moved = rng.normal(0, 0.05 * self.pool[kind].half, 2).astype(int)
                right = class_id if rng.random() < 0.9 else int(rng.choice(CLASSES))
                found.append((kind, x + moved[0], y + moved[1], right, rng.beta(4, 2)))
        while len(found) < RESULTS:
            near = places[int(rng.integers(len(places)))][3]
            class_id = near if rng.random() < 0.5 else int(rng.choice(CLASSES, p=self.class_shares))
            place = rng.integers(width), rng.integers(height)
            found.append((int(rng.integers(SHAPES)), *place, class_id, rng.beta(1.2, 6)))
        for kind, x, y, class_id, score in sorted(found[:RESULTS], key=lambda item: -item[4]):
            counts = counts_at(
                self.pool[kind].predicted[rng.integers(PREDICTED)], int(x), int(y), height, width
            )
            yield (
                {
                    "image_id": number,
                    "category_id": int(class_id),
                    "bbox": box_of(counts, height),
                    "score": float(score),
                    "segmentation": {"size": [height, width], "counts": None},
                },
                counts,
            )


def polygon_area(points) -> float:
    x, y = points.T
    return abs(float(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1)))) / 2


def box_of(counts, height: int) -> list[float]:
    edges = np.cumsum(counts)
    starts, stops = edges[:-1:2], edges[1::2]
    if not len(stops):
        return [0.0, 0.0, 0.0, 0.0]
    starts = starts[: len(stops)]
    first, last = starts // height, (stops - 1) // height
    top = 0 if (first != last).any() else int((starts - first * height).min())
    end = height if (first != last).any() else int((stops - first * height).max())
    left = int(first.min())
    return [float(left), float(top), float(last.max() + 1 - left), float(end - top)]


def make(folder: Path, images: int, seed: int, *, boxes: bool) -> None:
    """Both files; the results are written as they are made."""
    folder.mkdir(parents=True, exist_ok=True)
    maker = Maker(seed)
    listed, annotations = [], []
    with (folder / "results.json").open("w") as file:
        separator = "["
        for number in range(1, images + 1):
            image, own, results = maker.image(number * 7 + 132)
            listed.append(image)
            annotations += own
            pairs = list(results)
            texts = text_of_counts([counts for _, counts in pairs])
            for (entry, _), text in zip(pairs, texts, strict=True):
                entry["segmentation"]["counts"] = text
                if not boxes:
                    del entry["bbox"]
                file.write(separator + json.dumps(entry))
                separator = ", "
        file.write("]")
    categories = [{"supercategory": "thing", "id": int(n), "name": f"class {n}"} for n in CLASSES]
    whole = {"info": {"year": 2017}, "images": listed, "annotations": annotations, "categories": categories}
    (folder / "annotations.json").write_text(json.dumps(whole))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-boxes", action="store_true", help="results without `bbox`")
    options = parser.parse_args()
    if options.images < 1:
        parser.error("--images starts at 1")
    began = time.perf_counter()
    make(options.folder, options.images, options.seed, boxes=not options.no_boxes)
    sizes = [(options.folder / name).stat().st_size / 1e6 for name in ("annotations.json", "results.json")]
    print(f"annotations {sizes[0]:.1f} MB, results {sizes[1]:.1f} MB; {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
