"""Writes a Data Science Bowl competition: truth.csv and submission.csv, nuclei as runs down the columns.

    python bench/make_dsb.py FOLDER --images 670 --seed 1

Nuclei lie in cells of a grid, one at most in each, so that no two share a pixel.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from run_text import run_text

HEIGHT, WIDTH, CELL = 520, 696, 40
FILLED = 0.2  # of the cells; some 44 nuclei an image
MISSED, ADDED = 0.08, 0.02


def disc(rng, x: float, y: float, radius: float):
    """The runs of a roughened ellipse, column by column: columns, first rows, lengths."""
    wide, tall = radius * rng.uniform(0.75, 1.0), radius * rng.uniform(0.75, 1.0)
    columns = np.arange(int(np.ceil(x - wide)), int(x + wide) + 1)
    reach = tall * np.sqrt(np.maximum(1 - ((columns - x) / wide) ** 2, 0)) + rng.uniform(
        -0.7, 0.7, len(columns)
    )
    first = np.maximum(np.round(y - reach).astype(int), int(y) - CELL // 2 + 1)
    stop = np.minimum(np.round(y + reach).astype(int) + 1, int(y) + CELL // 2)
    kept = stop > first
    return columns[kept], first[kept], (stop - first)[kept]


def cell_text(runs) -> bytes:
    columns, first, lengths = runs
    text, _ = run_text(columns * HEIGHT + first + 1, lengths, b" ", b" ")
    return text.rstrip()


def make(folder: Path, images: int, seed: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    rows, columns = HEIGHT // CELL, WIDTH // CELL
    with (folder / "truth.csv").open("wb") as truth, (folder / "submission.csv").open("wb") as submission:
        truth.write(b"ImageId,EncodedPixels,Height,Width\n")
        submission.write(b"ImageId,EncodedPixels\n")
        for number in range(images):
            name = b"%016x" % (number * 0x9E3779B97F4A7C15 % 2**64)
            cells = rng.permutation(rows * columns)[: max(2, rng.binomial(rows * columns, FILLED))]
            for place, cell in enumerate(cells.tolist()):
                x, y = (cell % columns + 0.5) * CELL, (cell // columns + 0.5) * CELL
                radius = rng.uniform(5, 17)
                if place == 0 or rng.random() > ADDED:
                    truth.write(b"%b,%b,%d,%d\n" % (name, cell_text(disc(rng, x, y, radius)), HEIGHT, WIDTH))
                if place == 1 or rng.random() > MISSED:
                    near = disc(rng, x + rng.normal(0, 0.8), y, np.clip(radius * rng.normal(1, 0.08), 4, 18))
                    submission.write(b"%b,%b\n" % (name, cell_text(near)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--images", type=int, default=670)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.perf_counter()
    make(options.folder, options.images, options.seed)
    sizes = [(options.folder / name).stat().st_size / 1e6 for name in ("truth.csv", "submission.csv")]
    print(f"truth {sizes[0]:.1f} MB, submission {sizes[1]:.1f} MB; {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
