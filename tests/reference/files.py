"""Scenes as the files of the four competitions: a truth, a submission, and the list of images."""

from __future__ import annotations

import csv
import io
import zipfile
from typing import TYPE_CHECKING, NamedTuple

from PIL import Image as Picture

from tests.reference.overlap import pairs_by_class, pairs_by_image
from tests.reference.runs import BADLAD, DSB, WAD, Dialect, encode
from tests.reference.scene import WAD_GROUPS, Image, Pixels, Scene, Thing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

GROUP_OF = {class_id: value for value, class_id in WAD_GROUPS.items()}


class Files(NamedTuple):
    truth: Path
    submission: Path
    images: Path


def table(rows: Iterable[Sequence[object]]) -> str:
    """Rows as CSV text."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def write_table(path: Path, rows: Iterable[Sequence[object]]) -> Path:
    path.write_bytes(table(rows).encode())
    return path


def write_images(scene: Scene, folder: Path) -> Path:
    rows = [(image.id, image.height, image.width, image.clip) for image in scene.images]
    return write_table(folder / "images.csv", [("ImageId", "Height", "Width", "Clip"), *rows])


def text_of(thing: Thing, image: Image, dialect: Dialect) -> str:
    return encode(thing.pixels, image.height, image.width, *dialect)


def write_wad(scene: Scene, folder: Path) -> Files:
    """A row per instance; an image without truth has a row without a label."""
    by_id = {image.id: image for image in scene.images}
    truth: list[tuple[object, ...]] = [("ImageId", "LabelId", "EncodedPixels", "Height", "Width")]
    for thing in scene.truths:
        image = by_id[thing.image]
        label = GROUP_OF[thing.class_id] if thing.ignored else thing.class_id
        truth.append((image.id, label, text_of(thing, image, WAD), image.height, image.width))
    named = {thing.image for thing in scene.truths}
    truth += [
        (image.id, "", "", image.height, image.width) for image in scene.images if image.id not in named
    ]
    submission: list[tuple[object, ...]] = [
        ("ImageId", "LabelId", "Confidence", "PixelCount", "EncodedPixels")
    ]
    for thing in scene.predictions:
        text = text_of(thing, by_id[thing.image], WAD)
        submission.append((thing.image, thing.class_id, thing.confidence, len(thing.pixels), text))
    return Files(
        write_table(folder / "truth.csv", truth),
        write_table(folder / "submission.csv", submission),
        write_images(scene, folder),
    )


def write_dsb(scene: Scene, folder: Path) -> Files:
    """A row per object; an image without objects has one row with an empty cell, on either side."""
    by_id = {image.id: image for image in scene.images}

    def rows(things: Sequence[Thing]) -> list[tuple[Image, str]]:
        objects = [(by_id[thing.image], text_of(thing, by_id[thing.image], DSB)) for thing in things]
        named = {thing.image for thing in things}
        return objects + [(image, "") for image in scene.images if image.id not in named]

    truth = [
        (image.id, text, image.height, image.width)
        for image, text in rows([thing for thing in scene.truths if not thing.ignored])
    ]
    submission = [(image.id, text) for image, text in rows(scene.predictions)]
    return Files(
        write_table(folder / "truth.csv", [("ImageId", "EncodedPixels", "Height", "Width"), *truth]),
        write_table(folder / "submission.csv", [("ImageId", "EncodedPixels"), *submission]),
        write_images(scene, folder),
    )


def write_badlad(scene: Scene, folder: Path, classes: Sequence[int] = (0, 1, 2, 3)) -> Files:
    """A row per image and class, all of them, an empty mask as an empty cell."""
    sizes = {f"{image.id}_{class_id}": image for image in scene.images for class_id in classes}
    truth: list[tuple[object, ...]] = [("Id", "Predicted", "Height", "Width")]
    submission: list[tuple[object, ...]] = [("Id", "Predicted")]
    for row, ours, theirs in pairs_by_class(scene, classes):
        height, width = sizes[row].height, sizes[row].width
        truth.append((row, encode(ours, height, width, *BADLAD), height, width))
        submission.append((row, encode(theirs, height, width, *BADLAD)))
    return Files(
        write_table(folder / "truth.csv", truth),
        write_table(folder / "submission.csv", submission),
        write_images(scene, folder),
    )


def png(pixels: Pixels, height: int, width: int) -> bytes:
    """A mask as a grey PNG of 0 and 255."""
    grey = bytes(255 if number in pixels else 0 for number in range(height * width))
    file = io.BytesIO()
    Picture.frombytes("L", (width, height), grey).save(file, format="PNG")
    return file.getvalue()


def write_emoji(scene: Scene, folder: Path) -> Files:
    """A truth folder with test.csv and masks/, a zip with submission.csv and predictions/.

    The column Path names pictures that are not written: no scorer looks at them.
    """
    sizes = {image.id: image for image in scene.images}
    truth_folder = folder / "truth"
    (truth_folder / "masks").mkdir(parents=True)
    truth = [("SampleID", "Path", "Mask")]
    submission = [("SampleID", "PredictedMask")]
    members: list[tuple[str, bytes]] = []
    for image_id, ours, theirs in pairs_by_image(scene):
        height, width = sizes[image_id].height, sizes[image_id].width
        truth.append((image_id, f"images/{image_id}.png", f"masks/{image_id}.png"))
        (truth_folder / "masks" / f"{image_id}.png").write_bytes(png(ours, height, width))
        submission.append((image_id, f"predictions/{image_id}_mask.png"))
        members.append((f"predictions/{image_id}_mask.png", png(theirs, height, width)))
    write_table(truth_folder / "test.csv", truth)
    members.insert(0, ("submission.csv", table(submission).encode()))
    archive = folder / "submission.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for name, content in members:
            file.writestr(zipfile.ZipInfo(name), content)
    return Files(truth_folder, archive, write_images(scene, folder))
