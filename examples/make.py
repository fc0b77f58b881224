# ruff: noqa: INP001 - a script beside its data, no package
"""Makes the four small example competitions beside this file anew: `python examples/make.py [FOLDER]`.

It needs numpy and Pillow only, and none of segjudge: the run-length encoders are written out here, so that
the examples can disagree with the package. The same seed gives the same files.
"""

from __future__ import annotations

import csv
import io
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

SEED = 2018
Mask = NDArray[np.bool_]
Shape = tuple[int, int]  # (height, width)


# ------------------------------------------------------------------------------------------------ shapes


def box(shape: Shape, top: int, left: int, height: int, width: int) -> Mask:
    """A filled rectangle."""
    mask = np.zeros(shape, np.bool_)
    mask[max(top, 0) : top + height, max(left, 0) : left + width] = True
    return mask


def disc(shape: Shape, row: float, column: float, radius: float) -> Mask:
    """The pixels whose centres lie within the radius."""
    rows, columns = np.indices(shape)
    return (rows - row) ** 2 + (columns - column) ** 2 <= radius**2


def rough(mask: Mask, random: np.random.Generator, share: float) -> Mask:
    """The mask without a share of its border pixels, as a model would miss them."""
    inner = mask.copy()
    for axis in (0, 1):
        for step in (-1, 1):
            inner &= np.roll(mask, step, axis)
    border = mask & ~inner
    return mask & ~(border & (random.random(mask.shape) < share))


# -------------------------------------------------------------------------------------------------- runs


def runs(mask: Mask, order: Literal["row", "column"], origin: int) -> list[tuple[int, int]]:
    """(start, length) of each stretch of foreground, the first pixel having the number `origin`."""
    flat = (mask if order == "row" else mask.T).ravel()
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flat.view(np.int8), [0]])))
    return [
        (int(start) + origin, int(stop - start)) for start, stop in zip(edges[::2], edges[1::2], strict=True)
    ]


def wad_runs(mask: Mask) -> str:
    """The cell of WAD 2018: by rows from 0, each run closed by a pipe."""
    return "".join(f"{start} {length}|" for start, length in runs(mask, "row", 0))


def column_runs(mask: Mask) -> str:
    """The cell of BaDLAD and of the Data Science Bowl: by columns from 1, parted by spaces."""
    return " ".join(f"{start} {length}" for start, length in runs(mask, "column", 1))


# ------------------------------------------------------------------------------------------------- files


def write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV with plain line ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def png(pixels: NDArray[np.uint8]) -> bytes:
    """The pixels as an 8-bit gray PNG."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def write_zip(path: Path, members: Mapping[str, bytes]) -> None:
    """Write a zip whose bytes do not depend on the clock."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, (2018, 1, 1, 0, 0, 0)), data)


# ---------------------------------------------------------------------------------------------- wad-2018


def make_wad(folder: Path, random: np.random.Generator) -> None:
    """Street scenes with ignored regions."""
    shape = (24, 40)
    header = ["ImageId", "LabelId", "Confidence", "PixelCount", "EncodedPixels"]
    truths = [
        ("street_1", 33, box(shape, 12, 2, 8, 14)),
        ("street_1", 33, box(shape, 13, 20, 6, 10)),
        ("street_1", 36, disc(shape, 13, 34, 4)),
        ("street_1", 161, box(shape, 3, 3, 5, 20)),  # a group of cars: not evaluated
        ("street_2", 33, box(shape, 10, 24, 9, 13)),
        ("street_2", 36, disc(shape, 12, 6, 4)),
        ("street_2", 36, disc(shape, 13, 16, 4)),
        ("street_2", 65535, box(shape, 0, 0, 4, 40)),  # of no class: not evaluated
        ("street_3", 39, box(shape, 6, 8, 14, 22)),
    ]
    write_table(
        folder / "truth.csv",
        ["ImageId", "LabelId", "EncodedPixels", "Height", "Width"],
        [(image, value, wad_runs(mask), *shape) for image, value, mask in truths]
        + [("street_4", "", "", *shape)],
    )
    write_table(
        folder / "images.csv",
        ["ImageId", "Height", "Width", "Clip", "Usage"],
        [
            (f"street_{n}", *shape, f"clip_{(n + 1) // 2}", "Public" if n < 3 else "Private")
            for n in range(1, 5)
        ],
    )
    predictions = [
        ("street_1", 33, 0.98, rough(truths[0][2], random, 0.3)),
        ("street_1", 33, 0.91, box(shape, 14, 21, 6, 10)),  # one pixel down, one to the right
        ("street_1", 33, 0.55, box(shape, 3, 4, 5, 19)),  # on the group: removed
        ("street_1", 36, 0.83, rough(truths[2][2], random, 0.4)),
        ("street_2", 33, 0.95, rough(truths[4][2], random, 0.2)),
        ("street_2", 36, 0.88, rough(truths[5][2], random, 0.5)),
        ("street_2", 36, 0.35, disc(shape, 18, 30, 3)),  # nothing is there
        ("street_3", 39, 0.76, box(shape, 6, 10, 14, 20)),
    ]
    good = [(image, value, sure, int(mask.sum()), wad_runs(mask)) for image, value, sure, mask in predictions]
    write_table(folder / "good.csv", header, good)
    flawed = [list(row) for row in good]
    flawed[0][3] = 300  # PixelCount: a constant that was copied
    flawed[1][0] = "street_1.jpg"
    flawed[2][1] = 37  # riders are no class of this task
    flawed[3][2], flawed[3][3] = flawed[3][3], flawed[3][2]  # the two columns swapped
    flawed[4][4] = str(flawed[4][4]).rstrip("|")  # the last run is not closed
    flawed[5][4] = str(flawed[5][4]).replace("|", " ", 1)
    flawed[6][4] = "950 20|"  # the image has 24 x 40 = 960 pixels, the last being 959
    flawed[6][3] = 20
    flawed[7][2] = "nan"
    write_table(folder / "flawed.csv", header, flawed)
    swapped = [0, 1, 3, 2, 4]
    write_table(
        folder / "flawed-header.csv",
        [header[k] for k in swapped],
        [[row[k] for k in swapped] for row in good],
    )


# ------------------------------------------------------------------------------------------------ badlad


def make_badlad(folder: Path, random: np.random.Generator) -> None:
    """Pages of documents."""
    shape = (32, 24)
    none = np.zeros(shape, np.bool_)
    pages = {
        "0_0": box(shape, 2, 2, 10, 20) | box(shape, 14, 2, 8, 20),
        "0_1": box(shape, 26, 4, 3, 16),
        "0_2": none,
        "0_3": none,
        "1_0": box(shape, 2, 2, 12, 9),
        "1_1": none,
        "1_2": box(shape, 4, 13, 9, 9),
        "1_3": box(shape, 18, 3, 10, 18),
    }
    write_table(
        folder / "truth.csv",
        ["Id", "Predicted", "Height", "Width"],
        [(name, column_runs(mask), *shape) for name, mask in pages.items()],
    )
    write_table(folder / "images.csv", ["ImageId", "Height", "Width"], [("0", *shape), ("1", *shape)])
    predicted = {
        "0_0": box(shape, 2, 2, 20, 20),  # the two paragraphs as one block
        "0_1": box(shape, 25, 4, 4, 15),
        "0_2": none,
        "0_3": box(shape, 30, 0, 1, 2),  # a stray speck costs the whole row
        "1_0": rough(pages["1_0"], random, 0.3),
        "1_1": none,
        "1_2": box(shape, 5, 14, 9, 9),
        "1_3": rough(pages["1_3"], random, 0.5),
    }
    good = {name: column_runs(mask) for name, mask in predicted.items()}
    write_table(folder / "good.csv", ["Id", "Predicted"], good.items())
    flawed: dict[str, object] = dict(good)
    flawed["0_0"] = " ".join(
        f"{start - 1} {length}" for start, length in runs(box(shape, 0, 0, 9, 6), "column", 1)
    )
    flawed["0_1"] = str(good["0_1"]) + " 760"  # a start without a length
    flawed["0_2"] = "nan"
    flawed["0_3"] = "760 10"  # 32 x 24 = 768 pixels, the last being 768
    flawed["1_0"] = " ".join(
        f"{start} {length}" for start, length in reversed(runs(predicted["1_0"], "column", 1))
    )
    flawed["1_1"] = "10 5 12 5"  # two polygons written one behind the other
    rows = [(name, text) for name, text in flawed.items() if name != "1_3"]
    rows[6] = ("page-1.png_2", rows[6][1])
    write_table(folder / "flawed.csv", ["Id", "Predicted"], rows)


# ---------------------------------------------------------------------------------------------- dsb-2018


def make_dsb(folder: Path, random: np.random.Generator) -> None:
    """Nuclei, and a field without any."""
    shape = (28, 28)
    nuclei = [
        ("cells_1", disc(shape, 7, 7, 5)),
        ("cells_1", disc(shape, 7, 20, 4)),
        ("cells_1", disc(shape, 20, 13, 5)),
        ("cells_2", disc(shape, 9, 9, 6)),
        ("cells_2", disc(shape, 19, 20, 5)),
    ]
    write_table(
        folder / "truth.csv",
        ["ImageId", "EncodedPixels", "Height", "Width"],
        [(image, column_runs(mask), *shape) for image, mask in nuclei] + [("cells_3", "", *shape)],
    )
    write_table(
        folder / "images.csv",
        ["ImageId", "Height", "Width", "Usage"],
        [("cells_1", *shape, "Public"), ("cells_2", *shape, "Private"), ("cells_3", *shape, "Private")],
    )
    found = [
        ("cells_1", rough(nuclei[0][1], random, 0.5)),
        ("cells_1", rough(nuclei[1][1], random, 0.3)),
        ("cells_1", disc(shape, 21, 14, 5)),
        ("cells_2", rough(nuclei[3][1], random, 0.2)),
        ("cells_2", disc(shape, 19, 20, 4)),
        ("cells_2", disc(shape, 23, 5, 2)),  # nothing is there
    ]
    good = [(image, column_runs(mask)) for image, mask in found] + [("cells_3", "")]
    write_table(folder / "good.csv", ["ImageId", "EncodedPixels"], good)
    flawed = [list(row) for row in good[:-1]]  # the image without nuclei has no row
    flawed[1][1] = str([number for run in runs(found[1][1], "column", 1) for number in run])  # a printed list
    flawed[2][1] = column_runs(disc(shape, 11, 7, 5))  # shares pixels with the first
    flawed[3][1] = str(good[3][1]).replace(" ", ";", 1)
    flawed[4][1] = column_runs(box((40, 28), 34, 20, 4, 4))  # encoded at another size
    flawed.append(["cells_2", ""])  # "no object" beside objects
    write_table(folder / "flawed.csv", ["ImageId", "EncodedPixels"], flawed)


# ------------------------------------------------------------------------------------------------- emoji


def make_emoji(folder: Path, random: np.random.Generator) -> None:
    """Faces as PNG masks in archives."""
    shape = (24, 32)
    faces = [disc(shape, 12, 10, 7), disc(shape, 11, 20, 6), disc(shape, 13, 16, 9), box(shape, 6, 9, 12, 14)]
    names = [f"test_{number}" for number in range(len(faces))]
    white = [mask.astype(np.uint8) * np.uint8(255) for mask in faces]
    truth = folder / "truth"
    write_table(
        truth / "test.csv", ["SampleID", "Mask"], [(name, f"masks/{name}_mask.png") for name in names]
    )
    (truth / "masks").mkdir(exist_ok=True)
    for name, pixels in zip(names, white, strict=True):
        (truth / "masks" / f"{name}_mask.png").write_bytes(png(pixels))
    found = [
        rough(faces[0], random, 0.6),
        disc(shape, 13, 19, 6),
        disc(shape, 13, 16, 8),
        box(shape, 8, 10, 12, 14),
    ]
    members = {
        f"predictions/{name}_mask.png": mask.astype(np.uint8) * np.uint8(255)
        for name, mask in zip(names, found, strict=True)
    }
    table = "SampleID,PredictedMask\n" + "".join(f"{name},predictions/{name}_mask.png\n" for name in names)
    write_zip(
        folder / "good.zip", {"submission.csv": table.encode(), **{n: png(p) for n, p in members.items()}}
    )
    pictures = list(members.values())
    edge = (np.roll(faces[2], 1, 1) & ~faces[2]) * np.uint8(128)
    flawed = {
        "submission.csv": (table.replace("predictions/test_3", "../predictions/test_3")).encode(),
        "predictions/test_0_mask.png": png(pictures[0] // np.uint8(255)),  # 0 and 1: looks black, scores 0
        "predictions/test_1_mask.png": png(np.ascontiguousarray(pictures[1].T)),  # height and width swapped
        "predictions/test_2_mask.png": png(np.maximum(pictures[2], edge)),
        "predictions/test_3_mask.png": png(pictures[3]),
        "predictions/notes.txt": b"threshold 0.5\n",
    }
    write_zip(folder / "flawed.zip", flawed)


MAKERS = {"wad-2018": make_wad, "badlad": make_badlad, "dsb-2018": make_dsb, "emoji": make_emoji}


def main(target: Path) -> None:
    """Write the four folders below the target."""
    for task, make in MAKERS.items():
        folder = target / task
        folder.mkdir(parents=True, exist_ok=True)
        make(folder, np.random.default_rng(SEED))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
