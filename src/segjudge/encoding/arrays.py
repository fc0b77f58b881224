"""What a model gives, as masks: arrays, tensors, label maps, lists, Masks and Instances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from segjudge.errors import MaskError
from segjudge.formats.label_maps import masks_of_labels
from segjudge.instances import Instances
from segjudge.masks import Masks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from segjudge.masks import Order
    from segjudge.task import Task

__all__ = ["as_array", "as_labels", "as_mask", "class_masks", "instance_masks", "one_mask", "whole_numbers"]

_PER_CLASS = 1000
_BACK = "Bring masks back to the image's own size before thresholding."


def as_array(given: Any) -> NDArray[Any] | None:  # noqa: ANN401 - arrays and tensors of any library
    """The array that an object is or says it is; None of lists and other iterables."""
    return np.asarray(given) if hasattr(given, "__array__") else None


def as_mask(given: Any) -> NDArray[np.bool_]:  # noqa: ANN401 - arrays and tensors of any library
    """(H, W) booleans; raises MaskError if there are other values than 0 and 1, or 0 and 255."""
    array = np.asarray(given)
    if array.ndim != 2:
        raise MaskError(f"A mask has two axes (height, width), this one has the shape {array.shape}.")
    if array.dtype == np.bool_:
        return array
    return Masks.from_dense([array]).picture(0)


def as_labels(array: NDArray[Any]) -> NDArray[Any]:
    """A label map in a type that the kernels know: uint8, uint16 or int32."""
    if not np.issubdtype(array.dtype, np.integer):
        raise MaskError(
            f"An array (H, W) of {array.dtype} is no label map: that holds whole numbers.",
            "Threshold probabilities first (`> 0.5`), or give integers.",
        )
    if array.size and (array.min() < 0 or array.max() > np.iinfo(np.int32).max):
        raise MaskError(f"A label map holds numbers from 0 to {np.iinfo(np.int32).max}.")
    return array if array.dtype in {np.dtype(np.uint8), np.dtype(np.uint16)} else array.astype(np.int32)


def whole_numbers(given: Iterable[Any] | None, what: str) -> list[int] | None:
    """Class ids as integers; raises MaskError for what is no whole number."""
    if given is None:
        return None
    array = as_array(given)
    values = array.reshape(-1).tolist() if array is not None else list(given)
    try:
        numbers = [int(value) for value in values]
    except (TypeError, ValueError, OverflowError):
        raise MaskError(f"The {what} are no whole numbers: {str(values)[:60]}.") from None
    if any(number != value for number, value in zip(numbers, values, strict=True)):
        raise MaskError(f"The {what} are no whole numbers: {str(values)[:60]}.")
    return numbers


def instance_masks(task: Task, given: Any, named: list[int] | None) -> tuple[Masks, list[int] | None]:  # noqa: ANN401
    """Masks of arrays, and their class ids where those are given or a label map names them."""
    array = as_array(given)
    if array is None or array.ndim != 2:
        pictures = given if array is None else array
        if array is not None and array.ndim != 3:
            raise MaskError(f"Masks are an array (N, height, width), this one has the shape {array.shape}.")
        return Masks.from_dense([as_mask(picture) for picture in pictures], task.order), named
    if array.dtype == np.bool_:
        return Masks.from_dense([array], task.order), named
    values, masks = masks_of_labels(as_labels(array), task.order, np.zeros(1, np.uint8))
    if named is None and task.truth.label_map == "class-instance":
        kept = np.isin(values // _PER_CLASS, list(task.classes))
        return masks[kept], (values[kept] // _PER_CLASS).tolist()
    return masks, named


def class_masks(task: Task, given: Any) -> tuple[list[int], Masks]:  # noqa: ANN401 - see `SubmissionWriter.add`
    """The class ids that masks are given for, and the mask of each."""
    classes = list(task.classes)
    if isinstance(given, Instances):
        named, parts = given.class_ids.tolist(), [given.masks[place] for place in range(len(given))]
    elif hasattr(given, "items"):
        named, parts = whole_numbers(list(given), "class ids") or [], list(given.values())
    else:
        array = as_array(given)
        parts = list(given) if array is None else list(array) if array.ndim else []
        named = classes
        if len(parts) != len(classes):
            raise MaskError(f"{len(parts)} masks came for the {len(classes)} classes {classes}.")
    strangers = [class_id for class_id in named if class_id not in classes]
    if strangers:
        raise MaskError(f"{strangers[0]!r} is no class of this task: {classes}.")
    if len(set(named)) != len(named):
        raise MaskError("A class has two masks.", "Join them first: `a | b`.")
    return named, Masks.concatenate([_single(part, task.order) for part in parts], task.order)


def one_mask(given: Any, shape: tuple[int, int] | None) -> NDArray[np.bool_]:  # noqa: ANN401 - see `SubmissionWriter.add`
    """The one mask of a picture, (H, W), of this shape where it is known."""
    if isinstance(given, (Masks, Instances)):
        given = _single(given, "row").picture(0)
    array = np.asarray(given)
    mask = as_mask(array[0] if array.ndim == 3 and len(array) == 1 else array)
    if shape is not None and mask.shape != shape:
        turned = " Height and width are swapped." if mask.shape == shape[::-1] else ""
        raise MaskError(
            f"The mask is {mask.shape[0]} rows x {mask.shape[1]} columns, "
            f"the image {shape[0]} x {shape[1]}.{turned}",
            _BACK,
        )
    if not mask.size:
        raise MaskError("A picture has at least one pixel.", "Give the image's size.")
    return mask


def _single(given: Any, order: Order) -> Masks:  # noqa: ANN401 - Instances, Masks, or an array
    """One mask as runs."""
    masks = given.masks if isinstance(given, Instances) else given
    if not isinstance(masks, Masks):
        return Masks.from_dense([as_mask(masks)], order)
    if len(masks) != 1:
        raise MaskError(f"One mask is wanted, {len(masks)} came.")
    return masks.reordered(order)
