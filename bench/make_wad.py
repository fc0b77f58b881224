"""Writes a WAD competition at full scale: truth.csv, submission.csv and images.csv, from a seed.

    python bench/make_wad.py FOLDER --images 1917 --truths 30000 --predictions 60000 --seed 1

The first images of `--factor 10` are those of `--factor 1`: a longer set begins with the shorter one.
"""

import argparse
import hashlib
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from run_text import run_text, runs_of_box

HEIGHT, WIDTH = 2710, 3384
TOP, BOTTOM = 1560, 2280  # 99.7 % of the real objects lie between these rows
BAND = BOTTOM - TOP
BUFFER = 1 << 22

# How many objects an image holds: percentiles of the training set.
SHARES = np.array([0, 1, 5, 25, 50, 75, 90, 95, 99, 100]) / 100
COUNTS = np.array([1, 2, 3, 7, 13, 24, 38, 51, 71, 102])

CLASSES = np.array([33, 36, 39, 38, 35, 34, 40])
CLASS_SHARES = np.array([64.3, 20.2, 5.0, 3.4, 2.9, 2.5, 1.7]) / 100
# height beside a car's, width to height (least, most), share of the height that is open below
BODIES = {
    33: (1.00, 1.15, 2.10, 0.16),
    34: (1.05, 0.70, 1.20, 0.25),
    35: (1.00, 0.80, 1.30, 0.35),
    36: (1.20, 0.33, 0.50, 0.45),
    38: (1.70, 0.80, 1.60, 0.14),
    39: (1.80, 0.90, 1.90, 0.10),
    40: (1.15, 0.80, 1.30, 0.18),
}
VOID = 65535
GROUPS = np.arange(161, 169)
GROUP_SHARES = np.array([0.45, 0.08, 0.12, 0.2, 0.05, 0.03, 0.02, 0.05])
CAR_HEIGHT = 400  # of the nearest car, in pixels
LEAST_PIXELS = 100
MOST_WIDTH = 1800


@dataclass(slots=True)
class Shape:
    """An object's outline: for each of its rows the first column, the column after the last, and a gap."""

    class_id: int
    row: int  # of the band
    left: np.ndarray  # (H,) columns of the image
    right: np.ndarray
    gap_left: np.ndarray  # (H,) an opening between legs or wheels; gap_left == gap_right is none
    gap_right: np.ndarray

    @property
    def pixels(self):
        """The box and the mask in it: row of the band, column, bool (H, W)."""
        column = int(self.left.min())
        across = np.arange(column, int(self.right.max()))
        mask = (across >= self.left[:, None]) & (across < self.right[:, None])
        if (self.gap_right > self.gap_left).any():
            mask &= (across < self.gap_left[:, None]) | (across >= self.gap_right[:, None])
        return self.row, column, mask


def wavy(rng, rows: int, swing: float, knots: int = 7):
    """A smooth random line of that many rows: what a drawn outline does."""
    values = rng.normal(0.0, swing, knots)
    return np.interp(np.linspace(0, knots - 1, rows), np.arange(knots), values)


def new_shape(rng, class_id: int, closeness: float, middle: float) -> Shape:
    """An object of that class standing on the road: the closer, the larger and the lower in the picture."""
    tallness, least, most, opening = BODIES[class_id]
    height = int(np.clip(CAR_HEIGHT * tallness * closeness * rng.uniform(0.85, 1.15), 12, BAND - 2))
    width = min(height * rng.uniform(least, most), MOST_WIDTH)
    bottom = int(np.clip(60 + BAND * closeness * rng.uniform(0.8, 1.2) + height * 0.15, height, BAND))
    if rng.random() < 0.5:
        bottom = int(rng.integers(height, BAND + 1))
    along = np.linspace(-1, 1, height)
    half = 0.5 * width * (1 - np.abs(along) ** rng.uniform(3, 8)) ** 0.4 + 1
    lean = wavy(rng, height, 0.03 * width)
    left = middle - half + lean + wavy(rng, height, 0.02 * width) + rng.integers(-1, 2, height)
    right = middle + half + lean + wavy(rng, height, 0.02 * width) + rng.integers(-1, 2, height)
    open_from = int(height * (1 - opening * rng.uniform(0.6, 1.2)))
    gap = np.zeros(height)
    gap[open_from:] = 0.5 * width * rng.uniform(0.35, 0.6) * np.linspace(0.2, 1, height - open_from)
    return settle(class_id, bottom - height, left, right, middle - gap, middle + gap)


def new_region(rng, class_id: int) -> Shape:
    """An ignored region: a far, wide group, or a blob of no class."""
    if class_id == VOID:
        height, width = int(rng.integers(40, 300)), rng.uniform(60, 700)
        row = int(rng.integers(0, BAND - height))
    else:
        height = int(rng.integers(30, 130))
        width = height * rng.uniform(2, 6)
        row = int(rng.integers(0, 160))
    middle = rng.uniform(0, WIDTH)
    half = 0.5 * width * (1 - np.abs(np.linspace(-1, 1, height)) ** 4) ** 0.5 + 1
    left = middle - half + wavy(rng, height, 0.06 * width, 11) + rng.integers(-2, 3, height)
    right = middle + half + wavy(rng, height, 0.06 * width, 11) + rng.integers(-2, 3, height)
    flat = np.full(height, middle)
    return settle(class_id, row, left, right, flat, flat)


def settle(class_id: int, row: int, left, right, gap_left, gap_right) -> Shape:
    """The outline in whole pixels, inside the picture, at least one pixel wide on every row."""
    left = np.clip(np.rint(left), 0, WIDTH - 1).astype(np.int64)
    right = np.clip(np.rint(right), left + 1, WIDTH).astype(np.int64)
    gap_left = np.rint(gap_left).astype(np.int64)
    gap_right = np.rint(gap_right).astype(np.int64)
    return Shape(
        class_id, row, left, right, gap_left, np.where(gap_right - gap_left < 3, gap_left, gap_right)
    )


def paint_front(rng, canvas) -> int:
    """Poles, signs and leaves before everything else; the value they were painted with."""
    for _ in range(rng.integers(5, 13)):
        column, width = int(rng.integers(0, WIDTH - 40)), int(rng.integers(5, 26))
        row, height = int(rng.integers(0, BAND // 3)), int(rng.integers(BAND // 3, BAND))
        canvas[row : row + height, column : column + width] = 1
    for _ in range(rng.integers(2, 6)):
        height, width = int(rng.integers(40, 160)), int(rng.integers(40, 220))
        row, column = int(rng.integers(0, BAND - height)), int(rng.integers(0, WIDTH - width))
        coarse = rng.random((height // 4 + 1, width // 6 + 1)) < 0.25
        leaves = coarse.repeat(4, axis=0).repeat(6, axis=1)[:height, :width]
        canvas[row : row + height, column : column + width][leaves] = 1
    return 1


def place(canvas, shape: Shape, value: int) -> bool:
    """Paints what nearer things leave of the object; False where that is too little to be annotated."""
    row, column, mask = shape.pixels
    box = canvas[row : row + mask.shape[0], column : column + mask.shape[1]]
    seen = mask & (box == 0)
    count = int(np.count_nonzero(seen))
    if count < max(LEAST_PIXELS, 0.12 * np.count_nonzero(mask)):
        return False
    box[seen] = value
    return True


def place_truths(rng, canvas, wanted: int, front: int) -> list[Shape]:
    """The image's objects, nearest first; entry i has the value front + 1 + i in the canvas."""
    crowding = min(1.0, (16 / max(wanted, 1)) ** 0.35)
    classes = rng.choice(CLASSES, wanted, p=CLASS_SHARES)
    closeness = np.sort(rng.beta(2.2, 2.2, wanted) * crowding + 0.02)[::-1]
    placed = []
    for class_id, near in zip(classes, closeness, strict=True):
        for attempt in range(40):
            shape = new_shape(rng, int(class_id), float(near) * 0.96**attempt, rng.uniform(0, WIDTH))
            if place(canvas, shape, front + 1 + len(placed)):
                placed.append(shape)
                break
    for _ in range(rng.poisson(1.0)):
        class_id = VOID if rng.random() < 0.4 else int(rng.choice(GROUPS, p=GROUP_SHARES))
        shape = new_region(rng, class_id)
        if place(canvas, shape, front + 1 + len(placed)):
            placed.append(shape)
    return placed


def redraw(rng, shape: Shape, blur: float, class_id: int) -> Shape:
    """The same object as a model draws it: moved, scaled, with other edges; the larger blur the worse."""
    height = len(shape.left)
    width = float(np.median(shape.right - shape.left))
    rows = int(np.clip(rng.normal(0, blur * height), -0.4 * height, 0.4 * height))
    grown = int(np.clip(rng.normal(0, blur * height), -0.4 * height, 0.4 * height))
    row = int(np.clip(shape.row + rows, 0, BAND - 4))
    bottom = int(np.clip(shape.row + rows + height + grown, row + 4, BAND))
    source = np.clip(np.linspace(0, height - 1, bottom - row).astype(np.int64), 0, height - 1)
    lines = bottom - row
    aside = rng.normal(0, blur * width)
    left = shape.left[source] + aside + wavy(rng, lines, blur * width, 9) + rng.integers(-2, 3, lines)
    right = shape.right[source] + aside + wavy(rng, lines, blur * width, 9) + rng.integers(-2, 3, lines)
    gap_left, gap_right = shape.gap_left[source] + aside, shape.gap_right[source] + aside
    if rng.random() < 0.4:
        gap_right = gap_left
    return settle(class_id, row, left, right, gap_left, gap_right)


def hide(rng, canvas, row: int, column: int, mask, value: int) -> None:
    """Takes from a predicted mask what stands before its object, seen a pixel or two beside its place."""
    height, width = mask.shape
    up, aside = rng.integers(-2, 3, 2)
    up = int(np.clip(row + up, 0, BAND - height))
    aside = int(np.clip(column + aside, 0, WIDTH - width))
    nearer = canvas[up : up + height, aside : aside + width]
    mask &= (nearer == 0) | (nearer >= value)


def predict(rng, canvas, placed: list[Shape], objects: int, wanted: int, front: int):
    """That many predictions: objects found, found twice, and things that are not there, with confidences."""
    found = np.flatnonzero(rng.random(objects) < 0.87)[:wanted]
    rest = wanted - len(found)
    twice = rng.choice(found, int(rng.binomial(rest, 0.45))) if len(found) else found
    for index in found:
        blur = float(rng.gamma(2.0, 0.012))
        yield drawn(rng, canvas, placed, int(index), blur, front), rng.beta(9, 2 + 40 * blur)
    for index in twice:
        blur = 0.02 + float(rng.gamma(2.0, 0.03))
        yield drawn(rng, canvas, placed, int(index), blur, front), rng.beta(3, 5)
    for _ in range(rest - len(twice)):
        if len(placed) > objects and rng.random() < 0.35:
            index = int(rng.integers(objects, len(placed)))
            yield drawn(rng, canvas, placed, index, 0.03, front), rng.beta(2, 4)
            continue
        class_id = int(rng.choice(CLASSES, p=CLASS_SHARES))
        shape = new_shape(rng, class_id, float(rng.beta(1.8, 2.8)), rng.uniform(0, WIDTH))
        yield (class_id, *shape.pixels), rng.beta(1.5, 5)


def drawn(rng, canvas, placed: list[Shape], index: int, blur: float, front: int):
    """Class, row, column and mask of one prediction of a placed object; 3 % are of the wrong class."""
    class_id = placed[index].class_id
    if class_id not in BODIES or rng.random() < 0.03:
        class_id = int(rng.choice(CLASSES, p=CLASS_SHARES))
    row, column, mask = redraw(rng, placed[index], blur, class_id).pixels
    if rng.random() < 0.85:
        whole = mask.copy()
        hide(rng, canvas, row, column, mask, front + 1 + index)
        if np.count_nonzero(mask) < LEAST_PIXELS // 2:
            mask = whole
    return class_id, row, column, mask


def truth_rows(canvas, placed: list[Shape], front: int, image: str):
    """The image's rows of truth.csv, sorted by class, and how many runs they hold."""
    flat = canvas.ravel()
    starts = np.concatenate(([0], np.flatnonzero(flat[1:] != flat[:-1]) + 1))
    lengths = np.diff(starts, append=flat.size)
    values = flat[starts].astype(np.int64)
    kept = values > front
    starts, lengths, values = starts[kept] + TOP * WIDTH, lengths[kept], values[kept] - front - 1
    order = np.argsort(values, kind="stable")
    first = np.searchsorted(values[order], np.arange(len(placed) + 1))
    text, places = run_text(starts[order], lengths[order], b" ", b"|")
    if not placed:
        return [b"%s,,,%d,%d\n" % (image.encode(), HEIGHT, WIDTH)], 0
    rows = []
    for index in sorted(range(len(placed)), key=lambda i: placed[i].class_id):
        cell = text[places[first[index]] : places[first[index + 1]]]
        head = f"{image},{placed[index].class_id},".encode()
        rows.append(head + cell + b",%d,%d\n" % (HEIGHT, WIDTH))
    return rows, len(starts)


def prediction_rows(masks, confidences, image: str):
    """The image's rows of submission.csv, by class and falling confidence, and how many runs they hold."""
    if not masks:
        return [], 0
    starts, lengths, first = [], [], [0]
    for _, row, column, mask in masks:
        lines, columns, length = runs_of_box(mask)
        starts.append((TOP + row + lines) * WIDTH + column + columns)
        lengths.append(length)
        first.append(first[-1] + len(length))
    areas = [int(length.sum()) for length in lengths]
    text, places = run_text(np.concatenate(starts), np.concatenate(lengths), b" ", b"|")
    rows = []
    for index in sorted(range(len(masks)), key=lambda i: (masks[i][0], -confidences[i])):
        cell = text[places[first[index]] : places[first[index + 1]]]
        head = f"{image},{masks[index][0]},{confidences[index]!r},{areas[index]},".encode()
        rows.append(head + cell + b"\n")
    return rows, first[-1]


def spread(rng, images: int, truths: int):
    """How many objects each image holds: drawn from the percentiles, then brought to the total."""
    counts = np.interp(rng.random(images), SHARES, COUNTS)
    counts = np.maximum(np.floor(counts * truths / counts.sum() + rng.random(images)), 0).astype(np.int64)
    while (missing := truths - counts.sum()) != 0:
        chosen = rng.integers(0, images, min(abs(int(missing)), images))
        np.add.at(counts, chosen, int(np.sign(missing)))
        counts = np.maximum(counts, 0)
    return counts


def clip_of(block: int, index: int, images: int) -> str:
    """The clip of an image: about two hundred images in a row make one."""
    clips = max(1, round(images / 192))
    number = block * clips + index * clips // images
    return f"road0{number % 3 + 1}_cam_{5 + number % 2}_video_{number // 2}"


def write_block(block: int, options, files, totals: dict) -> None:
    """One repetition of the recipe: `images` images with their truths and predictions."""
    rng = np.random.default_rng([options.seed, block, 0])
    wanted = spread(rng, options.images, options.truths)
    predictions = rng.multinomial(options.predictions, (wanted + 2) / (wanted + 2).sum())
    owed = 0
    for index in range(options.images):
        rng = np.random.default_rng([options.seed, block, index + 1])
        image = hashlib.md5(b"%d %d %d" % (options.seed, block, index)).hexdigest()
        canvas = np.zeros((BAND, WIDTH), dtype=np.uint16)
        front = paint_front(rng, canvas)
        placed = place_truths(rng, canvas, int(wanted[index]) + owed, front)
        objects = sum(shape.class_id in BODIES for shape in placed)
        owed += int(wanted[index]) - objects
        rows, runs = truth_rows(canvas, placed, front, image)
        found = list(predict(rng, canvas, placed, objects, int(predictions[index]), front))
        confidences = [float(np.float32(max(confidence, 1e-3))) for _, confidence in found]
        guesses, guessed = prediction_rows([mask for mask, _ in found], confidences, image)
        files["truth"].write(b"".join(rows))
        files["submission"].write(b"".join(guesses))
        files["images"].write(f"{image},{HEIGHT},{WIDTH},{clip_of(block, index, options.images)}\n".encode())
        totals["truths"] += objects
        totals["ignored"] += len(placed) - objects
        totals["predictions"] += len(guesses)
        totals["truth_runs"] += runs
        totals["prediction_runs"] += guessed
        if options.shuffle:
            totals["row_bytes"].extend(map(len, guesses))
    if owed:
        print(f"{owed} truths found no room in block {block} and were left out.", file=sys.stderr)


def shuffle_rows(path: Path, row_bytes: list[int], seed: int) -> None:
    """Writes the rows below the header in a random order, one row in memory at a time."""
    sorted_path = path.with_suffix(".sorted")
    path.rename(sorted_path)
    with sorted_path.open("rb") as source, path.open("wb", BUFFER) as target:
        header = source.readline()
        target.write(header)
        sizes = np.array(row_bytes, dtype=np.int64)
        places = len(header) + np.cumsum(sizes) - sizes
        for row in np.random.default_rng([seed, 2**31, 0]).permutation(len(sizes)):
            source.seek(int(places[row]))
            target.write(source.read(int(sizes[row])))
    sorted_path.unlink()


def parsed():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--images", type=int, default=1917)
    parser.add_argument("--truths", type=int, default=30_000)
    parser.add_argument("--predictions", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--factor", type=int, default=1, help="repeat the recipe this many times")
    parser.add_argument("--shuffle", action="store_true", help="rows of the submission in random order")
    options = parser.parse_args()
    if min(options.images, options.factor) < 1 or min(options.truths, options.predictions, options.seed) < 0:
        parser.error("images and factor start at 1, the other numbers at 0")
    return options


def main() -> None:
    options = parsed()
    began = time.perf_counter()
    options.folder.mkdir(parents=True, exist_ok=True)
    headers = {
        "truth": b"ImageId,LabelId,EncodedPixels,Height,Width\n",
        "submission": b"ImageId,LabelId,Confidence,PixelCount,EncodedPixels\n",
        "images": b"ImageId,Height,Width,Clip\n",
    }
    totals = dict.fromkeys(("truths", "ignored", "predictions", "truth_runs", "prediction_runs"), 0)
    totals["row_bytes"] = []
    files = {name: (options.folder / f"{name}.csv").open("wb", BUFFER) for name in headers}
    for name, header in headers.items():
        files[name].write(header)
    for block in range(options.factor):
        write_block(block, options, files, totals)
    for file in files.values():
        file.close()
    if options.shuffle:
        shuffle_rows(options.folder / "submission.csv", totals["row_bytes"], options.seed)
    for name in headers:
        print(f"{name}.csv: {(options.folder / f'{name}.csv').stat().st_size / 1e6:.1f} MB")
    masks = totals["truths"] + totals["ignored"]
    print(
        f"{options.images * options.factor} images, {totals['truths']} truths, {totals['ignored']} ignored, "
        f"{totals['predictions']} predictions; runs per mask: "
        f"{totals['truth_runs'] / max(masks, 1):.0f} truth, "
        f"{totals['prediction_runs'] / max(totals['predictions'], 1):.0f} predicted; "
        f"{(totals['truth_runs'] + totals['prediction_runs']) / 1e6:.2f} M runs; "
        f"{time.perf_counter() - began:.1f} s"
    )


if __name__ == "__main__":
    main()
