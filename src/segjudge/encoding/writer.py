"""Writing a submission, one image at a time; nothing is left behind when something goes wrong."""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
import zipfile
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, Self
from unicodedata import normalize

import numpy as np

from segjudge.chunks import shared_pixels
from segjudge.encoding.arrays import as_array, class_masks, instance_masks, one_mask, whole_numbers
from segjudge.encoding.results import ResultsTarget, run_lengths
from segjudge.errors import MaskError, UsageError
from segjudge.instances import Instances
from segjudge.masks import Masks
from segjudge.task import ArchiveForm, ResultsForm, TableForm, Task

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import TracebackType

    from numpy.typing import NDArray

    from segjudge.images import Images

__all__ = ["SubmissionWriter", "refuse_path", "write_submission"]

_NOT_TABLES = {".parquet", ".pq", ".zip", ".bz2", ".xz", ".tar", ".json"}
_NOT_ARCHIVES = {".csv", ".parquet", ".gz", ".tar", ".tgz", ".xz", ".bz2"}
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the date of every member: the same masks give the same bytes


def write_submission(task: Task, path: str | Path, images: Images | None = None) -> SubmissionWriter:
    """A writer for a submission of this task, to be used in a `with` statement.

    `with sj.write_submission(task, "submission.csv") as out:` and then `out.add(image_id, masks, …)` for
    each image. The file appears when the block ends well; if it ends with an exception there is none.
    With `images` ids and sizes are checked as they come, and images that were never added are written as
    images without anything. A path that ends in `.gz` is packed.

    >>> import tempfile, pathlib
    >>> from segjudge.task import load_task
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "submission.csv"
    >>> with write_submission(load_task("dsb-2018"), path) as out:
    ...     out.add("cells_1", np.array([[1, 1, 0], [0, 0, 2]]))
    >>> path.read_text().splitlines()
    ['ImageId,EncodedPixels', 'cells_1,1 1 3 1', 'cells_1,6 1']
    """
    return SubmissionWriter(task, path, images)


def refuse_path(task: Task, path: Path) -> None:
    """Raise UsageError where no submission of this task can be written: a folder, a wrong ending."""
    if not path.parent.is_dir():
        raise UsageError(f"There is no folder {str(path.parent)!r} to write into.")
    if path.is_dir():
        raise UsageError(f"{str(path)!r} is a folder.", "Name a file.")
    form = task.submission
    endings = _NOT_ARCHIVES if isinstance(form, ArchiveForm) else _NOT_TABLES
    if isinstance(form, ResultsForm):
        endings = (_NOT_TABLES | {".csv"}) - {".json"}
    if path.suffix.lower() in endings:
        raise UsageError(
            f"{path.name!r} would not be what its ending says.",
            "Tables are written as .csv or .csv.gz (`segjudge convert` makes Parquet), pictures as .zip, "
            "COCO's results as .json or .json.gz.",
        )


class _Target(Protocol):
    """Where rows go."""

    def row(self, cells: Sequence[str]) -> None: ...

    def picture(self, image: str, mask: NDArray[np.bool_]) -> None: ...

    def finish(self) -> None: ...

    def abandon(self) -> None: ...


class SubmissionWriter:
    """Turns masks into the rows of a submission. See `write_submission`."""

    def __init__(self, task: Task, path: str | Path, images: Images | None = None) -> None:
        self.task = task
        self.path = Path(path)
        self.images = images
        self._added: set[str] = set()
        self._partial = self.path.with_name(f".{self.path.name}.{os.getpid()}.part")
        self._stack = ExitStack()
        self._target: _Target | None = None

    def __enter__(self) -> Self:
        refuse_path(self.task, self.path)
        form = self.task.submission
        kind = (
            _ArchiveTarget
            if isinstance(form, ArchiveForm)
            else _TableTarget
            if isinstance(form, TableForm)
            else ResultsTarget
        )
        file: Any = self._stack.enter_context(self._partial.open("wb"))
        if self.path.suffix == ".gz":
            file = self._stack.enter_context(gzip.GzipFile("", "wb", 6, file, 0))
        self._target = kind(file, form)  # type: ignore[arg-type]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        target = self._target
        try:
            if kind is None and target is not None:
                self._write_absent()
                target.finish()
                target = None
                self._stack.close()
                self._partial.replace(self.path)
        finally:
            self._target = None
            with suppress(OSError):  # a full disk: what led here is the news
                if target is not None:
                    target.abandon()
                self._stack.close()
            self._partial.unlink(missing_ok=True)

    def add(
        self,
        image: str,
        masks: NDArray[Any] | Sequence[NDArray[Any]] | Mapping[int, NDArray[Any] | Masks] | Masks | Instances,
        class_ids: Iterable[int] | None = None,
        confidences: Iterable[float] | None = None,
    ) -> None:
        """Write one image's masks; what `masks` may be depends on the task.

        Instances (WAD, Data Science Bowl): booleans (N, H, W), a list of (H, W), a label map (H, W) of
        integers (WAD: class · 1000 + instance), `Masks`, or `Instances`; WAD and COCO want `class_ids` unless
        the label map or the instances name them, and take `confidences` (1 where not given).
        One mask per class (BaDLAD): booleans (C, H, W) in the order of the task's classes, a mapping of
        class id to (H, W), or `Instances`; what is left out is empty. One mask (emoji): booleans (H, W).
        Tensors and whatever else has `__array__` count as arrays. An instance without a pixel is no
        instance, and gets no row.

        Raises MaskError, and writes no row of this image, for masks that are not binary, not of the image's
        size, or share pixels where the task forbids it, and for an image that was added before or is none
        of the competition's.
        """
        if self._target is None:
            raise UsageError("The writer is not open.", "Use it in a with statement.")
        self._check_id(image)
        if isinstance(self.task.submission, ArchiveForm):
            self._target.picture(image, one_mask(masks, self._shape(image)))
        elif self.task.semantic:
            self._add_classes(image, masks)
        else:
            self._add_instances(image, masks, class_ids, confidences)
        self._added.add(image)

    def _check_id(self, image: str) -> None:
        if image in self._added:
            raise MaskError(f"The image {image!r} was added before.", "Give all masks of an image at once.")
        if self.images is not None and image not in self.images.places:
            from segjudge.contest import id_hint  # noqa: PLC0415 - only for the unlucky

            raise MaskError(f"{image!r} is no image of this competition.", id_hint(image, self.images.ids))

    def _shape(self, image: str) -> tuple[int, int] | None:
        if self.images is None:
            return None
        height, width = self.images.shapes[self.images.places[image]].tolist()
        return (height, width) if height >= 0 else None

    def _checked(self, image: str, masks: Masks) -> Masks:
        shape = self._shape(image)
        if shape is not None and len(masks) and (masks.shapes != np.array(shape)).any():
            found = tuple(masks.shapes[(masks.shapes != np.array(shape)).any(axis=1)][0].tolist())
            turned = " Height and width are swapped." if found == shape[::-1] else ""
            raise MaskError(
                f"A mask of {image!r} is {found[0]} rows x {found[1]} columns, "
                f"the image {shape[0]} x {shape[1]}.{turned}",
                "Bring masks back to the image's own size before thresholding.",
            )
        return masks.reordered(self.task.order)

    def _add_classes(self, image: str, given: Any) -> None:  # noqa: ANN401 - see `add`
        named, masks = class_masks(self.task, given)
        texts = dict(zip(named, self._texts(self._checked(image, masks)), strict=True))
        for class_id in self.task.classes:
            cells = {"image-class": f"{image}_{class_id}", "image": image, "class": str(class_id)}
            self._row({**cells, "runs": texts.get(class_id, "")})

    def _add_instances(
        self,
        image: str,
        given: Any,  # noqa: ANN401 - see `add`
        class_ids: Iterable[int] | None,
        confidences: Iterable[float] | None,
    ) -> None:
        masks, classes, certain = self._instances(image, given, class_ids, confidences)
        masks = self._checked(image, masks)
        self._refuse_shared(image, masks)
        if not masks.areas.any() and self.task.submission.missing is not None:
            self._row({"image": image, "runs": ""})
        for text, area, class_id, confidence in zip(
            self._texts(masks), masks.areas.tolist(), classes, certain, strict=True
        ):
            if area or isinstance(self.task.submission, ResultsForm):  # COCO counts an empty mask, too
                cells = {"class": str(class_id), "confidence": confidence, "pixel-count": str(area)}
                self._row({"image": image, **cells, "runs": text})

    def _refuse_shared(self, image: str, masks: Masks) -> None:
        form = self.task.submission
        if not isinstance(form, TableForm) or form.overlapping != "error" or len(masks) < 2:
            return
        for first, second in shared_pixels(masks, np.zeros(len(masks), np.int64)).tolist():
            raise MaskError(
                f"The masks {first} and {second} (from 0) of {image!r} share pixels.",
                "Each pixel belongs to one object here: leave it to the surer one, or give a label map.",
            )

    def _instances(
        self,
        image: str,
        given: Any,  # noqa: ANN401 - see `add`
        class_ids: Iterable[int] | None,
        confidences: Iterable[float] | None,
    ) -> tuple[Masks, list[int], list[str]]:
        """Masks, class ids, and confidences as text, whatever form they came in."""
        classed = "class" in self.task.submission.columns.values()
        if isinstance(given, Instances):
            given = _of_image(image, given)
            class_ids = given.class_ids if class_ids is None else class_ids
            confidences = given.confidences if confidences is None else confidences
            given = given.masks
        named = whole_numbers(class_ids, "class ids")
        masks, named = (given, named) if isinstance(given, Masks) else instance_masks(self.task, given, named)
        if classed and named is None and len(masks):
            raise MaskError("The class of each mask is not given.", "Pass class_ids, one for each mask.")
        named = named if named is not None else [0] * len(masks)
        values = _floats(confidences, len(masks))
        if not len(masks) == len(named) == len(values):
            raise MaskError(
                f"{len(masks)} masks, {len(named)} classes and {len(values)} confidences were given."
            )
        strangers = sorted(set(named) - set(self.task.classes)) if classed and self.task.classes else []
        if strangers:
            raise MaskError(f"{strangers[0]} is no class of this task: {list(self.task.classes)}.")
        if not all(map(math.isfinite, values)):
            raise MaskError("A confidence is no finite number.", "Drop instances whose score is NaN.")
        return masks, named, [_decimal(value) for value in values]

    def _texts(self, masks: Masks) -> list[str]:
        form = self.task.submission
        if isinstance(form, ResultsForm):
            return run_lengths(masks)
        return form.rle.encode_masks(masks) if isinstance(form, TableForm) and len(masks) else []

    def _row(self, cells: Mapping[str, str]) -> None:
        if self._target is not None:
            self._target.row([cells[role] for role in self.task.submission.columns.values()])

    def _write_absent(self) -> None:
        """The images that were never added, as images without anything."""
        for image in self.images.ids if self.images is not None else ():
            if image in self._added:
                continue
            if isinstance(self.task.submission, ArchiveForm):
                shape = self._shape(image)
                if shape is None:
                    raise MaskError(
                        f"{image!r} was not added, and an empty mask needs to know its size.",
                        "Add every image, or give Height and Width.",
                    )
                self.add(image, np.zeros(shape, np.bool_))
            else:
                self.add(image, {} if self.task.semantic else [], ())


class _TableTarget:
    """Rows of a CSV."""

    def __init__(self, file: IO[bytes], form: TableForm) -> None:
        self._text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=False)
        self._writer = csv.writer(self._text, lineterminator="\n")
        self._writer.writerow(form.columns)

    def row(self, cells: Sequence[str]) -> None:
        self._writer.writerow(cells)

    def picture(self, image: str, mask: NDArray[np.bool_]) -> None:
        raise TypeError(f"a table holds no pictures ({image}, {mask.shape})")

    def finish(self) -> None:
        self._text.flush()
        self._text.detach()

    def abandon(self) -> None:
        self._text.detach()


class _ArchiveTarget:
    """Pictures in a zip, and the table that names them, written last."""

    def __init__(self, file: IO[bytes], form: ArchiveForm) -> None:
        self._zip = zipfile.ZipFile(file, "w")
        self._form = form
        self._rows: list[list[str]] = []
        self._names: set[str] = set()

    def row(self, cells: Sequence[str]) -> None:
        self._rows.append(list(cells))

    def picture(self, image: str, mask: NDArray[np.bool_]) -> None:
        name = self._free_name(_file_name(image))
        self._put(name, png_of_mask(mask), zipfile.ZIP_STORED)
        named = {"image": image, "file": name}
        self.row([named[role] for role in self._form.columns.values()])

    def finish(self) -> None:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows([list(self._form.columns), *self._rows])
        self._put(self._form.table, text.getvalue().encode(), zipfile.ZIP_DEFLATED)
        self._zip.close()

    def abandon(self) -> None:
        self._zip.close()

    def _free_name(self, stem: str) -> str:
        """A member that no image has yet, on no file system: `a/b` and `a_b` are two images."""
        name, number = f"{stem}_mask.png", 1
        while name.casefold() in self._names:
            number += 1
            name = f"{stem}_{number}_mask.png"
        self._names.add(name.casefold())
        return f"predictions/{name}"

    def _put(self, name: str, data: bytes, method: int) -> None:
        member = zipfile.ZipInfo(name, _EPOCH)
        member.compress_type = method
        self._zip.writestr(member, data)


def png_of_mask(mask: NDArray[np.bool_]) -> bytes:
    """A PNG of 0 and 255, as the emoji page wants it: "255 (vit)" and "0 (svart)"."""
    from PIL import Image  # noqa: PLC0415 - tables need no pictures

    out = io.BytesIO()
    Image.fromarray(mask.view(np.uint8) * np.uint8(255)).save(out, "PNG")
    return out.getvalue()


def _file_name(image: str) -> str:
    """An id as a file name: path separators and dots at the start would lead elsewhere."""
    stem = "".join(sign if sign.isprintable() and sign not in '/\\:*?"<>|' else "_" for sign in image)
    return normalize("NFC", stem).lstrip(".") or "_"


def _of_image(image: str, given: Instances) -> Instances:
    """The instances, if all are of one image and none is an ignored region."""
    if len(set(given.image.tolist())) > 1:
        raise MaskError(
            f"The instances for {image!r} are of several images.", "Give those of one image at a time."
        )
    return given[~given.ignored]


def _floats(given: Iterable[float] | None, count: int) -> list[float]:
    if given is None:
        return [1.0] * count
    array = as_array(given)
    try:
        return [float(value) for value in (given if array is None else array.reshape(-1).tolist())]
    except (TypeError, ValueError):
        raise MaskError("The confidences are no numbers.") from None


def _decimal(value: float) -> str:
    """A confidence as a decimal that reads back as the same number."""
    return "1" if value == 1 else repr(float(value))
