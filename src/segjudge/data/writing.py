"""Labelled sets on disk: training data, images to predict, and truth to score with, all in one folder."""

from __future__ import annotations

import csv
import hashlib
import json
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, cast

import numpy as np
from PIL import Image

from segjudge.codecs import Rle
from segjudge.data.generators import scenes
from segjudge.data.pages import CLASSES as PAGE_CLASSES
from segjudge.data.pages import PageScene
from segjudge.data.streets import FRAMES, StreetScene
from segjudge.errors import UsageError
from segjudge.polygons import polygon_masks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from segjudge.data.scene import Scene

__all__ = ["make", "write_set"]

_FIRST = datetime(2017, 9, 8, 6, 15, tzinfo=UTC)  # the first frame of the first clip
_PAGE_CLASS_NAMES = ("paragraph", "text_box", "image", "table")


def make(
    task_id: str,
    folder: Path,
    *,
    images: int,
    seed: int,
    size: tuple[int, int] | None = None,
    art: str = "drawn",
    part: str = "all",
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Nothing; the folder, made where it is missing, holds a labelled set of this many images afterwards.

    The same seed writes the same bytes, with the same numpy and Pillow, and fonts where they are used. Raises
    UsageError as `scenes` does, and for a folder in which something lies already: two sets in one folder
    would be none.
    """
    drawn = scenes(task_id, images=images, seed=seed, size=size, art=art, part=part)
    write_set(task_id, folder, _counted(drawn, images, progress))


def write_set(task_id: str, folder: Path, made: Iterator[Scene]) -> None:
    """Nothing; these scenes of a task, which may come from several generators, are in the folder afterwards.

    Raises UsageError for a folder in which something lies already.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not an empty folder.", "Name one that does not exist yet.")
    folder.mkdir(parents=True, exist_ok=True)
    if task_id == "wad-2018":
        _write_streets(folder, cast("Iterator[StreetScene]", made))
    elif task_id == "badlad":
        _write_pages(folder, cast("Iterator[PageScene]", made))
    elif task_id == "dsb-2018":
        _write_cells(folder, made)
    else:
        _write_emoji(folder, made)


def _counted(
    made: Iterator[Scene], total: int, progress: Callable[[int, int], None] | None
) -> Iterator[Scene]:
    for number, scene in enumerate(made, start=1):
        yield scene
        if progress is not None:
            progress(number, total)


def _write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def _write_mask(path: Path, mask: NDArray[np.bool_]) -> None:
    _write_picture(path, mask.astype(np.uint8) * 255)


def _write_picture(path: Path, pixels: NDArray[np.uint8] | NDArray[np.uint16]) -> None:
    """Write a PNG; grain does not pack, so that trying hard would only cost time."""
    Image.fromarray(pixels).save(path, compress_level=1)


# ----------------------------------------------------------------------------------------------- streets


def _write_streets(folder: Path, made: Iterator[StreetScene]) -> None:
    for name in ("train_color", "train_label", "train_video_list"):
        (folder / name).mkdir()
    rows: list[tuple[str, int, int, str]] = []
    clip = 0
    while frames := list(islice(made, FRAMES)):
        clip += 1
        title = f"road01_cam_5_video_{clip}"
        lines = []
        for frame, scene in enumerate(frames):
            image = _frame_name(clip, frame)
            Image.fromarray(scene.picture).save(folder / "train_color" / f"{image}.jpg", quality=92)
            _write_picture(folder / "train_label" / f"{image}_instanceIds.png", scene.values)
            rows.append((image, *scene.shape, title))
            place = f"Record{clip:03}\\Camera 5\\{image}"
            lines.append(f"road01_ins\\ColorImage\\{place}.jpg\troad01_ins\\Label\\{place}_instanceIds.png\n")
        listed = folder / "train_video_list" / f"{title}_image_list_train.txt"
        listed.write_text("".join(lines), encoding="utf-8", newline="")
    _write_table(folder / "images.csv", ("ImageId", "Height", "Width", "Clip"), rows)


def _frame_name(clip: int, frame: int) -> str:
    """A frame's name: the time it was taken, and the camera."""
    taken = _FIRST + timedelta(minutes=clip - 1, milliseconds=400 * frame)
    return f"{taken:%y%m%d_%H%M%S}{taken.microsecond // 1000:03}_Camera_5"


# ------------------------------------------------------------------------------------------------- pages


def _write_pages(folder: Path, made: Iterator[PageScene]) -> None:
    (folder / "images").mkdir()
    pages: list[dict[str, object]] = []
    annotations: list[dict[str, object]] = []
    rows: list[tuple[str, str, int, int]] = []
    for image, scene in enumerate(made):
        height, width = scene.shape
        _write_picture(folder / "images" / f"{image}.png", scene.picture)
        pages.append({"id": image, "file_name": f"{image}.png", "height": height, "width": width})
        for number, ring in enumerate(scene.rings):
            low, high = ring.min(axis=0), ring.max(axis=0)
            annotations.append({
                "id": len(annotations) + 1,
                "image_id": image,
                "category_id": int(scene.class_ids[number]),
                "segmentation": [ring.ravel().tolist()],
                "bbox": np.round([*low, *(high - low)], 2).tolist(),
                "area": int(scene.whole[number]),
                "iscrowd": 0,
            })  # fmt: skip
        for class_id, runs in _page_runs(scene).items():
            rows.append((f"{image}_{class_id}", runs, height, width))
    classes = [{"id": class_id, "name": name} for class_id, name in enumerate(_PAGE_CLASS_NAMES)]
    whole = {"images": pages, "annotations": annotations, "categories": classes}
    (folder / "annotations.json").write_text(json.dumps(whole) + "\n", encoding="utf-8", newline="")
    _write_table(folder / "truth.csv", ("Id", "Predicted", "Height", "Width"), rows)


def _page_runs(scene: PageScene) -> dict[int, str]:
    """The run text of each class: all its outlines in one mask."""
    outlines = [
        [
            ring.ravel().tolist()
            for ring, own in zip(scene.rings, scene.class_ids.tolist(), strict=True)
            if own == class_id
        ]
        for class_id in PAGE_CLASSES
    ]
    masks = polygon_masks(outlines, [scene.shape] * len(PAGE_CLASSES)).dense()
    codec = Rle(order="column", origin=1)
    return {class_id: codec.encode(mask) for class_id, mask in zip(PAGE_CLASSES, masks, strict=True)}


# ----------------------------------------------------------------------------------------------- nuclei


def _write_cells(folder: Path, made: Iterator[Scene]) -> None:
    for number, scene in enumerate(made):
        name = hashlib.sha256(number.to_bytes(8, "little") + scene.picture.tobytes()).hexdigest()
        (folder / name / "images").mkdir(parents=True)
        (folder / name / "masks").mkdir()
        _write_picture(folder / name / "images" / f"{name}.png", scene.picture)
        for mask, _ in scene.masks():
            own = hashlib.sha256(bytes.fromhex(name) + np.packbits(mask).tobytes()).hexdigest()
            _write_mask(folder / name / "masks" / f"{own}.png", mask)


# ------------------------------------------------------------------------------------------------ emoji


def _write_emoji(folder: Path, made: Iterator[Scene]) -> None:
    for name in ("images", "masks"):
        (folder / name).mkdir()
    rows = []
    for number, scene in enumerate(made):
        image = f"train_{number}"
        _write_picture(folder / "images" / f"{image}.png", scene.picture)
        _write_mask(folder / "masks" / f"{image}.png", scene.owner > 0)
        rows.append((image, f"images/{image}.png", f"masks/{image}.png"))
    _write_table(folder / "train.csv", ("SampleID", "Path", "Mask"), rows)
