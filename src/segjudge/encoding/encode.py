"""A folder of masks to a submission, image by image, with several workers."""

from __future__ import annotations

import multiprocessing
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from segjudge.encoding.writer import write_submission
from segjudge.errors import MaskError, SubmissionError
from segjudge.findings import Collector, Where

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from segjudge.encoding.folders import MaskFolder
    from segjudge.images import Images

__all__ = ["encode"]

_AHEAD = 8
_FEW = 64  # images that are not worth starting processes for

_folder: MaskFolder | None = None


def encode(
    folder: MaskFolder,
    path: str | Path,
    images: Images | None,
    findings: Collector,
    *,
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Write the submission of all masks in the folder, which is closed behind it; the number of images.

    Raises SubmissionError, and writes nothing, if anything is wrong with the masks or their names.
    """
    names = [image for image in (images.ids if images else folder.members) if image in folder.members]
    with folder.tree, suppress(_Refused):
        _write(folder, path, images, names, findings, workers, progress)
    diagnosis = findings.diagnosis()
    if not diagnosis.ok:
        raise SubmissionError(f"{folder.label} is refused: {diagnosis.findings[0]}", diagnosis)
    return len(names)


class _Refused(Exception):  # noqa: N818 - a signal: the writer must leave nothing behind
    """Something is wrong with the masks."""


def _write(
    folder: MaskFolder,
    path: str | Path,
    images: Images | None,
    names: list[str],
    findings: Collector,
    workers: int,
    progress: Callable[[int, int], None] | None,
) -> None:
    with write_submission(folder.task, path, images) as out:
        for number, (image, (masks, found)) in enumerate(
            zip(names, _read_all(folder, names, workers), strict=True), start=1
        ):
            findings.absorb(found)
            if not findings.errors:
                try:
                    out.add(image, masks)
                except MaskError as error:
                    findings.add(
                        "shape-mismatch", Where(file=folder.label, image=image), error.message, error.advice
                    )
            if progress is not None:
                progress(number, len(names))
        if findings.errors:
            raise _Refused


def _read_all(folder: MaskFolder, names: list[str], workers: int) -> Iterator[tuple[Any, Collector]]:
    if workers <= 1 or len(names) < _FEW:
        yield from map(folder.read, names)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, _start, (folder,)) as pool:
        waiting = deque(pool.submit(_read, name) for name in names[: _AHEAD * workers])
        behind = iter(names[_AHEAD * workers :])
        while waiting:
            result = waiting.popleft().result()
            following = next(behind, None)
            if following is not None:
                waiting.append(pool.submit(_read, following))
            yield result


def _start(folder: MaskFolder) -> None:
    global _folder  # noqa: PLW0603 - a worker process serves one folder for all its life
    _folder = folder


def _read(name: str) -> tuple[Any, Collector]:
    if _folder is None:
        raise RuntimeError("a worker process was not given its folder")
    return _folder.read(name)
