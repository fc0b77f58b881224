"""Writes a BaDLAD competition at full scale: truth.csv and submission.csv, from a seed, page by page.

    python bench/make_badlad.py FOLDER --rows 52000 --seed 1

52,000 rows are 13,000 pages of four classes and about 1.5 GB a side.
"""

import argparse
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
from run_text import run_text

PAGES = np.array([(2339, 1653), (2800, 1700)])  # height, width
PAGE_SHARES = np.array([0.7, 0.3])
NEWSPAPERS = 0.03
MARGIN, GAP = 60, 14
BUFFER = 1 << 22
CLASSES = 4  # 0 paragraph, 1 text box, 2 image, 3 table


def columns_of_page(width: int, number: int):
    """The page's text columns: pairs of first column and column after the last."""
    edges = np.linspace(MARGIN, width - MARGIN, number + 1).astype(np.int64)
    return [(int(a) + GAP, int(b) - GAP) for a, b in pairwise(edges)]


def stacked(rng, columns, height: int, wanted: int):
    """About that many boxes (top, bottom, left, right), one below the other in the page's columns, apart."""
    each = np.full(len(columns), wanted // len(columns))
    each[rng.permutation(len(columns))[: wanted % len(columns)]] += 1
    boxes = []
    for (left, right), count in zip(columns, each, strict=True):
        if not count:
            continue
        cuts = np.cumsum(rng.gamma(4.0, 1.0, count + 1))
        edges = MARGIN + (height - 2 * MARGIN) * np.concatenate(([0], cuts / cuts[-1]))
        for top, bottom in pairwise(edges[:-1]):
            if bottom - top < 3 * GAP:
                continue
            wide = max(int((right - left) * rng.beta(1.5, 1.7)), 2 * GAP)
            start = left + int(rng.integers(0, max(right - left - wide, 1)))
            boxes.append((int(top) + GAP, int(bottom) - GAP, start, min(start + wide, right)))
    return np.array(boxes, dtype=np.int64).reshape(-1, 4)


def boxes_of_page(rng, height: int, width: int):
    """The boxes of each class on one page; those of one class lie apart, those of two may overlap."""
    newspaper = rng.random() < NEWSPAPERS
    number = int(rng.integers(4, 7)) if newspaper else int(rng.choice([1, 2, 3], p=[0.5, 0.4, 0.1]))
    columns = columns_of_page(width, number)
    many = int(rng.normal(65, 15)) if newspaper else int(rng.geometric(1 / 9.0))
    paragraphs = stacked(rng, columns, height, max(many, 1))
    many = int(rng.normal(65, 15)) if newspaper else int(rng.geometric(1 / 9.5))
    text_boxes = stacked(rng, columns, height, max(many, 1))
    images = stacked(rng, columns, height, int(rng.poisson(0.56)))
    tables = stacked(rng, columns[:1], height, int(rng.poisson(0.07)))
    return [paragraphs, text_boxes, images, tables]


def drawn_again(rng, boxes):
    """The boxes as a model finds them: some are missed, edges differ; they stay apart from each other."""
    found = boxes[rng.random(len(boxes)) < 0.94]
    if not len(found):
        return found
    inward = np.abs(rng.normal(0, 0.03, found.shape))
    outward = rng.integers(0, 4, found.shape)
    high, wide = found[:, 1] - found[:, 0], found[:, 3] - found[:, 2]
    sizes = np.stack([high, high, wide, wide], axis=1)
    sides = np.array([1, -1, 1, -1])
    moved = np.where(rng.random(found.shape) < 0.6, (inward * sizes).astype(np.int64), -outward)
    return found + sides * moved


def runs_of_boxes(rng, boxes, height: int):
    """The runs of ragged rectangles in column order, first pixel 1: starts and lengths, sorted."""
    if not len(boxes):
        empty = np.empty(0, dtype=np.int64)
        return empty, empty
    wide = np.maximum(boxes[:, 3] - boxes[:, 2], 0)
    box = np.repeat(np.arange(len(boxes)), wide)
    column = np.arange(len(box)) - np.repeat(np.cumsum(wide) - wide, wide) + boxes[box, 2]
    top = boxes[box, 0] + rng.integers(-3, 4, len(box))
    bottom = np.maximum(boxes[box, 1] + rng.integers(-3, 4, len(box)), top + 1)
    starts = column * height + top + 1
    order = np.argsort(starts)
    return starts[order], (bottom - top)[order]


def cell(rng, boxes, height: int) -> bytes:
    starts, lengths = runs_of_boxes(rng, boxes, height)
    return run_text(starts, lengths, b" ", b" ")[0].rstrip(b" ")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=52_000, help="a multiple of 4: a row per page and class")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.rows < CLASSES or options.rows % CLASSES or options.seed < 0:
        parser.error("--rows is a multiple of 4 of at least 4, --seed at least 0")
    began = time.perf_counter()
    options.folder.mkdir(parents=True, exist_ok=True)
    truth_path, submission_path = options.folder / "truth.csv", options.folder / "submission.csv"
    empty = 0
    with truth_path.open("wb", BUFFER) as truth, submission_path.open("wb", BUFFER) as submission:
        truth.write(b"Id,Predicted,Height,Width\n")
        submission.write(b"Id,Predicted\n")
        for page in range(options.rows // CLASSES):
            rng = np.random.default_rng([options.seed, page + 1])
            height, width = (int(side) for side in rng.choice(PAGES, p=PAGE_SHARES))
            for class_id, boxes in enumerate(boxes_of_page(rng, height, width)):
                name = b"%d_%d," % (page, class_id)
                text = cell(rng, boxes, height)
                empty += not text
                truth.write(name + text + b",%d,%d\n" % (height, width))
                submission.write(name + cell(rng, drawn_again(rng, boxes), height) + b"\n")
    for path in (truth_path, submission_path):
        print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")
    print(
        f"{options.rows} rows, {empty / options.rows:.0%} of the truth's empty; "
        f"{time.perf_counter() - began:.1f} s"
    )


if __name__ == "__main__":
    main()
