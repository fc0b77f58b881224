"""Fills in docs/gallery.md: files, real runs of segjudge, and docs/pictures/gallery-*.png.

The page's prose stands in the page; between `<!-- shown: NAME -->` and `<!-- end -->` stands what this makes.
All shapes are drawn in whole numbers, so that every machine makes the same files and findings.
"""

from __future__ import annotations

import csv
import io
import re
import sys
import tempfile
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from segjudge.cli.app import main as run_segjudge
from segjudge.codecs import Rle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

HERE = Path(__file__).parent
PAGE = HERE / "gallery.md"
SHOWN = re.compile(r"<!-- shown: ([a-z-]+) -->.*?<!-- end -->", re.DOTALL)

DOWN, ALONG = Rle(order="column", origin=1), Rle(order="row", origin=1)
FROM_ZERO = Rle(order="column", origin=0)
STREET = Rle(order="row", origin=0, between=" ", after="|")

BACK, PALE, RED = (24, 30, 42), (66, 76, 94), (255, 70, 70)
COLOURS = ((255, 196, 61), (80, 200, 170), (120, 170, 255), (240, 130, 190), (180, 220, 90), (250, 150, 90))


@dataclass(slots=True)
class Shown:
    """What a mistake leaves: excerpts of its files, the commands to run, and two panels to look at."""

    files: list[tuple[str, str]]
    commands: list[str]
    panels: list[tuple[str, np.ndarray]] = field(default_factory=list)
    scale: int = 4


# ---------------------------------------------------------------------------------------------- drawing


def ellipse(shape: tuple[int, int], y: int, x: int, high: int, wide: int) -> np.ndarray:
    """The pixels of an ellipse as a mask (H, W): its centre, and half its height and width."""
    rows, columns = np.ogrid[: shape[0], : shape[1]]
    tall, broad = 2 * high + 1, 2 * wide + 1  # in half pixels, so that no edge has a lone tip
    return (2 * (rows - y) * broad) ** 2 + (2 * (columns - x) * tall) ** 2 <= (tall * broad) ** 2


SHAPE = (48, 72)
CELLS = [(10, 14, 7, 9), (12, 40, 8, 6), (9, 60, 5, 7), (32, 12, 9, 6), (34, 34, 7, 10), (30, 58, 10, 7)]


def cells() -> list[np.ndarray]:
    """Six nuclei that do not touch."""
    return [ellipse(SHAPE, *cell) for cell in CELLS]


def coloured(masks: Iterable[np.ndarray], truths: Iterable[np.ndarray] = ()) -> np.ndarray:
    """The masks, each in its colour, over a pale shadow of the truth; shared pixels are red."""
    masks, truths = list(masks), list(truths)
    shape = (masks or truths)[0].shape
    picture = np.full((*shape, 3), BACK, np.uint8)
    covered = np.zeros(shape, np.int64)
    for truth in truths:
        picture[truth] = PALE
    for number, mask in enumerate(masks):
        picture[mask] = COLOURS[number % len(COLOURS)]
        covered += mask
    picture[covered > 1] = RED
    return picture


def read_back(runs: str, shape: tuple[int, int]) -> np.ndarray:
    """The mask that runs down the columns from 1 mean in an image; what lies behind the last pixel is lost."""
    flat = np.zeros(shape[0] * shape[1], bool)
    numbers = [int(word) for word in runs.split()]
    for start, length in zip(numbers[::2], numbers[1::2], strict=False):
        flat[max(0, start - 1) : max(0, start - 1 + length)] = True
    return flat.reshape(shape[::-1]).T


def grey(values: np.ndarray) -> np.ndarray:
    """Numbers from 0 to 255 as they look."""
    return np.repeat(values[..., None], 3, axis=2).astype(np.uint8)


def picture_of(shown: Shown) -> Image.Image:
    """The panels side by side, every pixel a square, with their titles above."""
    gap, title = 12, 22
    parts = [Image.fromarray(panel) for _, panel in shown.panels]
    sizes = [(part.width * shown.scale, part.height * shown.scale) for part in parts]
    width = sum(wide for wide, _ in sizes) + gap * (len(parts) - 1)
    sheet = Image.new("RGB", (width, max(high for _, high in sizes) + title), (255, 255, 255))
    draw, left = ImageDraw.Draw(sheet), 0
    for (name, _), part, size in zip(shown.panels, parts, sizes, strict=True):
        draw.text((left + 1, 3), name, fill=(70, 70, 70), font=ImageFont.load_default(13))
        sheet.paste(part.resize(size, Image.Resampling.NEAREST), (left, title))
        left += size[0] + gap
    return sheet.quantize(64, dither=Image.Dither.NONE)


def header_picture(headers: Sequence[tuple[str, list[str]]]) -> np.ndarray:
    """Headers of tables, each column in the colour of its name; a nameless or foreign one in red."""
    names = headers[0][1]
    sheet = Image.new("RGB", (620, 52 * len(headers) - 6), (255, 255, 255))
    draw = ImageDraw.Draw(sheet)
    for line, (title, header) in enumerate(headers):
        top, left = 52 * line, 0
        draw.text((1, top + 1), title, fill=(70, 70, 70), font=ImageFont.load_default(13))
        for name in header:
            wide = 118 if name else 22
            colour = COLOURS[names.index(name)] if name in names else RED
            draw.rectangle((left, top + 20, left + wide - 3, top + 44), fill=colour)
            draw.text((left + 5, top + 24), name, fill=BACK, font=ImageFont.load_default(13))
            left += wide
    return np.asarray(sheet)


# ------------------------------------------------------------------------------------------------ files


def write_table(name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> tuple[str, str]:
    """The table's name and an excerpt; the table lies in the current folder afterwards."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([header, *rows])
    Path(name).write_text(text.getvalue(), encoding="utf-8", newline="")
    return name, excerpt(text.getvalue())


def excerpt(text: str) -> str:
    """The first lines of a table, long cells cut short."""
    lines = [re.sub(r"[^,]{44,}", _shortened, line) for line in text.splitlines()]
    return "\n".join([*lines[:5], *(["…"] if len(lines) > 5 else [])])


def _shortened(cell: re.Match[str]) -> str:
    words = cell[0]
    return f"{words[:28].rsplit(' ', 1)[0]} … ({len(words):,} characters)"


def write_images(shapes: dict[str, tuple[int, int]]) -> None:
    """The list of images, with their sizes."""
    write_table(
        "images.csv", ("ImageId", "Height", "Width"), [(name, *size) for name, size in shapes.items()]
    )


def write_cells(
    masks: Sequence[np.ndarray], runs: Sequence[str], name: str = "submission.csv"
) -> tuple[str, str]:
    """A submission with these runs beside the truth of these masks."""
    write_images({"cells_1": SHAPE})
    rows = [("cells_1", DOWN.encode(mask), *SHAPE) for mask in masks]
    write_table("truth.csv", ("ImageId", "EncodedPixels", "Height", "Width"), rows)
    return write_table(name, ("ImageId", "EncodedPixels"), [("cells_1", text) for text in runs])


CHECK_CELLS = "segjudge check dsb-2018 submission.csv --images images.csv"
SCORE_CELLS = "segjudge score dsb-2018 truth.csv submission.csv"

# --------------------------------------------------------------------------------------------- mistakes


def transposed() -> Shown:
    truths = cells()
    runs = [ALONG.encode(mask) for mask in truths]
    file = write_cells(truths, runs)
    seen = [read_back(text, SHAPE) for text in runs]
    panels = [("the truth", coloured(truths)), ("what the scorer sees", coloured(seen, truths))]
    return Shown([file], [CHECK_CELLS, SCORE_CELLS], panels)


def off_by_one() -> Shown:
    small = [(5, 6, 2, 3), (9, 19, 3, 2), (20, 8, 3, 3), (19, 25, 2, 4), (6, 32, 3, 3), (14, 33, 2, 2)]
    truths = [ellipse(SHAPE, *cell) for cell in small]
    runs = [FROM_ZERO.encode(mask) for mask in truths]
    file = write_cells(truths, runs)
    corner = ellipse(SHAPE, 0, 0, 4, 5)
    cornered = write_table(
        "corner.csv", ("ImageId", "EncodedPixels"), [("cells_1", FROM_ZERO.encode(corner))]
    )
    seen = [read_back(text, SHAPE) for text in runs]
    part = np.s_[:26, :40]
    panels = [
        ("the truth", coloured([mask[part] for mask in truths])),
        ("what the scorer sees", coloured([mask[part] for mask in seen], [mask[part] for mask in truths])),
    ]
    other = "segjudge check dsb-2018 corner.csv --images images.csv"
    return Shown([file, cornered], [CHECK_CELLS, SCORE_CELLS, other], panels, scale=8)


def network_size() -> Shown:
    truths, side = cells(), 64
    rows, columns = np.arange(side) * SHAPE[0] // side, np.arange(side) * SHAPE[1] // side
    runs = [DOWN.encode(mask[rows][:, columns]) for mask in truths]
    file = write_cells(truths, runs)
    seen = [read_back(text, SHAPE) for text in runs]
    panels = [("the truth", coloured(truths)), ("what the runs mean here", coloured(seen, truths))]
    return Shown([file], [CHECK_CELLS], panels)


def spreadsheet() -> Shown:
    shape = (420, 280)
    rows, columns = np.ogrid[: shape[0], : shape[1]]
    ragged = 50 + rows // 12 * 37 % 41
    lines = (rows % 12 < 7) & (rows > 20) & (rows < 400) & (columns > 30) & (columns < shape[1] - ragged)
    runs = DOWN.encode(lines)
    write_images({"7": shape})
    file = write_table(
        "submission.csv", ("Id", "Predicted"), [("7_0", runs[:32_767]), ("7_1", ""), ("7_2", ""), ("7_3", "")]
    )
    write_table("more-images.csv", ("ImageId", "Height", "Width"), [("0012", *SHAPE), ("3e5", *SHAPE)])
    ids = write_table(
        "ids.csv", ("ImageId", "EncodedPixels"), [("12", "4 3 52 3"), ("300000", "100 8 148 8")]
    )
    panels = [
        ("the mask that was encoded", coloured([lines])),
        (
            "what the cut cell still holds",
            coloured([read_back(runs[:32_767].rsplit(" ", 1)[0], shape)], [lines]),
        ),
    ]
    commands = [
        "segjudge check badlad submission.csv --images images.csv",
        "segjudge check dsb-2018 ids.csv --images more-images.csv",
    ]
    return Shown([file, ids], commands, panels, scale=1)


def empty_marker() -> Shown:
    shape = (24, 18)
    text, none = np.zeros(shape, bool), np.zeros(shape, bool)
    text[3:20, 3:15] = True
    dot = none.copy()
    dot[0, 0] = True
    write_images({"0": shape})
    runs = {0: DOWN.encode(text), 1: "", 2: "", 3: ""}
    write_table(
        "truth.csv",
        ("Id", "Predicted", "Height", "Width"),
        [(f"0_{key}", word, *shape) for key, word in runs.items()],
    )
    header = ("Id", "Predicted")
    nan = write_table("nan.csv", header, [("0_0", "nan"), ("0_1", "-1"), ("0_2", "[]"), ("0_3", "1 0")])
    dummy = write_table("dummy.csv", header, [("0_3", "1 1"), *((f"0_{key}", runs[key]) for key in range(3))])
    panels = [
        ("tables: the truth", coloured([none])),
        ("with 1 1", coloured([dot])),
    ]
    commands = [
        "segjudge check badlad nan.csv --images images.csv",
        "segjudge score badlad truth.csv dummy.csv --by class",
    ]
    return Shown([nan, dummy], commands, panels, scale=8)


def overlapping() -> Shown:
    truths = [ellipse(SHAPE, 24, 24, 14, 13), ellipse(SHAPE, 25, 49, 12, 11)]
    found = [ellipse(SHAPE, 24, 25, 14, 15), ellipse(SHAPE, 25, 46, 12, 13)]
    file = write_cells(truths, [DOWN.encode(mask) for mask in found])
    panels = [("the truth", coloured(truths)), ("two predictions; shared pixels are red", coloured(found))]
    return Shown([file], [CHECK_CELLS], panels)


def stale_count() -> Shown:
    whole = ellipse(SHAPE, 30, 30, 12, 24)
    front = np.zeros(SHAPE, bool)
    front[8:46, 34:42] = True
    car = whole & ~front
    write_images({"street_1": SHAPE})
    rows = [
        ("street_1", 33, 0.91, int(whole.sum()), STREET.encode(car)),
        ("street_1", 36, 0.84, int(front.sum()), STREET.encode(front)),
    ]
    file = write_table(
        "submission.csv", ("ImageId", "LabelId", "Confidence", "PixelCount", "EncodedPixels"), rows
    )
    panels = [
        ("when the pixels were counted", coloured([whole])),
        ("when the runs were written", coloured([car, front])),
    ]
    return Shown([file], ["segjudge check wad-2018 submission.csv --images images.csv"], panels)


def columns() -> Shown:
    names = ["ImageId", "LabelId", "Confidence", "PixelCount", "EncodedPixels"]
    swapped = ["", *names[:2], "PixelCount", "Confidence", "EncodedPixels"]
    write_images({"street_1": SHAPE})
    rows = [(0, "street_1", 33, 8, 0.7, "1 3|10 5|"), (1, "street_1", 35, 20, 0.9, "100 5|200 15|")]
    file = write_table("submission.csv", swapped, rows)
    panel = header_picture([("the page's order", names), ("the file", swapped)])
    return Shown(
        [file], ["segjudge check wad-2018 submission.csv --images images.csv"], [("", panel)], scale=1
    )


def face() -> np.ndarray:
    """A round head with a hat: what an emoji's mask looks like."""
    shape = (40, 40)
    mask = ellipse(shape, 23, 20, 14, 14)
    mask[6:10, 8:33] = True
    mask[2:7, 13:28] = True
    return mask


def write_masks(values: dict[str, np.ndarray], *, form: str = "PNG") -> tuple[str, str]:
    """The folder `submission` with these masks, and its table."""
    folder = Path("submission")
    (folder / "predictions").mkdir(parents=True, exist_ok=True)
    for name, array in values.items():
        Image.fromarray(array.astype(np.uint8)).save(folder / "predictions" / f"{name}.png", form)
    write_images({name: array.shape for name, array in values.items()})
    rows = [(name, f"predictions/{name}.png") for name in values]
    return write_table("submission/submission.csv", ("SampleID", "PredictedMask"), rows)


CHECK_EMOJI = "segjudge check emoji submission --images images.csv"


def zero_one() -> Shown:
    mask = face()
    file = write_masks({"test_0": mask})
    held = (
        "predictions/test_0.png, as numbers",
        "\n".join(" ".join(map(str, row[10:30])) for row in mask[1:5] * 1),
    )
    panels = [("what was meant", grey(mask * 255)), ("what the file looks like", grey(mask * 1))]
    return Shown([file, held], [CHECK_EMOJI], panels, scale=5)


def soft_edges() -> Shown:
    mask = face()
    padded = np.pad(mask.astype(np.int64), 1)
    soft = sum(padded[y : y + 40, x : x + 40] for y in range(3) for x in range(3)) * 255 // 9
    file = write_masks({"test_0": soft, "test_1": mask * 255})
    Image.fromarray(mask.astype(np.uint8) * 255).save("submission/predictions/test_1.png", "JPEG")
    held = (
        "predictions/test_0.png, as numbers",
        "\n".join(" ".join(f"{n:3}" for n in row[8:22]) for row in soft[1:5]),
    )
    panels = [("what was meant", grey(mask * 255)), ("test_0.png as saved", grey(soft))]
    return Shown([file, held], [CHECK_EMOJI, f"{CHECK_EMOJI} --set binarize=128"], panels, scale=5)


MISTAKES: dict[str, Callable[[], Shown]] = {
    "transposed": transposed,
    "off-by-one": off_by_one,
    "network-size": network_size,
    "spreadsheet": spreadsheet,
    "empty-marker": empty_marker,
    "overlapping": overlapping,
    "stale-count": stale_count,
    "columns": columns,
    "zero-one": zero_one,
    "soft-edges": soft_edges,
}

# ------------------------------------------------------------------------------------------------- page


def make(name: str) -> tuple[Shown, str]:
    """What a mistake leaves, and its block of the page, from real runs in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        shown = MISTAKES[name]()
        runs = [f"$ {command}\n{spoken(command)}" for command in shown.commands]
    parts = [f'```text title="{title}"\n{text}\n```' for title, text in shown.files]
    parts.append("```console\n" + "\n".join(runs) + "```")
    return shown, "\n\n".join(parts)


def spoken(command: str) -> str:
    """What segjudge says to a command, without a terminal."""
    said, before = io.StringIO(), sys.argv
    sys.argv = command.split()
    try:
        with redirect_stdout(said), redirect_stderr(said):
            run_segjudge()
    except SystemExit:
        pass  # the status shows in the words
    finally:
        sys.argv = before
    return said.getvalue()


def block(name: str) -> str:
    """A mistake's part of the page, between its two marks."""
    return f"<!-- shown: {name} -->\n\n{make(name)[1]}\n\n<!-- end -->"


def page(text: str) -> str:
    """The page with every block made anew."""
    return SHOWN.sub(lambda found: block(found[1]), text)


def main() -> None:
    """Write the page and its pictures."""
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8", newline="")
    for name in MISTAKES:
        shown, _ = make(name)
        picture = picture_of(shown) if name != "columns" else Image.fromarray(shown.panels[0][1]).quantize(64)
        picture.save(HERE / "pictures" / f"gallery-{name}.png", optimize=True)


if __name__ == "__main__":
    main()
