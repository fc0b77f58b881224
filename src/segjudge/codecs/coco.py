"""COCO's run lengths: counts down the columns, background first, as numbers or as compressed text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from segjudge import kernels
from segjudge.errors import MaskError
from segjudge.masks import Masks, mask_edges
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["CocoRle", "counts_from_text"]

Integers = NDArray[np.int64]

_LONGEST_SIDE = 1 << 24  # pixels: the product of two sides stays far within 64 bits
_KERNEL_SIDE = 1 << 20  # of images that the kernel reads
_MOST_SIGNS = 11  # of five bits each, that a number of an image of the longest sides takes


@dataclass(frozen=True, slots=True)
class CocoRle:
    """COCO's run lengths: `{"size": [height, width], "counts": …}`, columns first, background first.

    Counts are a list of numbers or COCO's compressed text. Decoded masks are in column order.

    >>> masks = CocoRle().decode({"size": [2, 3], "counts": [2, 3, 1]})
    >>> masks.areas.tolist(), masks.boxes.tolist()
    ([3], [[1, 0, 2, 2]])
    """

    def decode(self, *objects: Mapping[str, Any]) -> Masks:
        """The masks of COCO objects; raises MaskError where size or counts are no mask."""
        plain = _plain_texts(objects)
        masks = None if plain is None else _decoded_texts(*plain)
        if masks is None:  # each by itself, with words for what is wrong with it
            return Masks.concatenate((self._decode(item) for item in objects), "column")
        return masks

    def encode(self, mask: NDArray[Any]) -> dict[str, Any]:
        """The object of a mask (height, width) of two values, with uncompressed counts."""
        array = np.asarray(mask)
        edges = mask_edges(array, "column")
        height, width = (int(side) for side in array.shape)
        counts = np.diff(np.concatenate([[0], edges, [height * width]])).tolist()
        if len(counts) > 1 and counts[-1] == 0:
            counts.pop()
        return {"size": [height, width], "counts": counts}

    def compress(self, masks: Masks) -> list[str]:
        """COCO's compressed text of each mask; the masks are in column order, and their sizes are known.

        >>> CocoRle().compress(CocoRle().decode({"size": [2, 3], "counts": [2, 3, 1]}))
        ['231']
        """
        if masks.order != "column" or (masks.shapes < 0).any():
            raise MaskError("COCO counts down the columns of an image of known size.", "Reorder the masks.")
        return [_text_of_counts(_counts_of(masks, place)) for place in range(len(masks))]

    def _decode(self, item: Mapping[str, Any]) -> Masks:
        size, counts = item.get("size"), item.get("counts")
        if (
            not isinstance(size, (list, tuple))
            or len(size) != 2
            or not all(
                isinstance(side, (int, np.integer)) and not isinstance(side, bool) and side >= 0
                for side in size
            )
        ):
            raise MaskError(f"`size` is [height, width] in whole numbers, not {size!r}.")
        if isinstance(counts, (str, bytes)):
            counts = counts_from_text(counts)
        height, width = int(size[0]), int(size[1])
        if max(height, width) >= _LONGEST_SIDE:
            raise MaskError(f"An image of {height} x {width} pixels is beyond anything that is read here.")
        lengths = _checked_counts(counts)
        edges = np.cumsum(lengths)
        total = sum(lengths.tolist())  # Python's own integers: a hostile list must not wrap around
        if total != height * width:
            raise MaskError(
                f"The counts add up to {total}, the image has {height} x {width} = {height * width} pixels.",
                "Counts alternate background and mask and cover the whole image.",
            )
        starts, stops = edges[:-1][::2], edges[1::2]
        starts = starts[: len(stops)]
        shapes = np.array([[height, width]], np.int64)
        kept = stops > starts
        starts, stops = starts[kept], stops[kept]
        if not len(starts):
            return Masks.empty("column", [(height, width)])
        head = np.concatenate([[True], starts[1:] != stops[:-1]])
        tail = np.concatenate([head[1:], [True]])
        indptr = np.array([0, int(head.sum())], np.int64)
        return Masks.from_runs("column", starts[head], stops[tail], indptr, shapes)


def _plain_texts(objects: Sequence[Mapping[str, Any]]) -> tuple[list[bytes], Integers] | None:
    """The compressed texts and the sizes of objects that have nothing else; None if one is otherwise."""
    texts: list[bytes] = []
    sides: list[int] = []
    for item in objects:
        size, counts = item.get("size"), item.get("counts")
        if isinstance(counts, str) and counts.isascii():
            counts = counts.encode()
        if (
            not counts
            or not isinstance(counts, bytes)
            or not isinstance(size, (list, tuple))
            or len(size) != 2
        ):
            return None
        height, width = size
        if not (
            type(height) is type(width) is int and 0 < height <= _KERNEL_SIDE and 0 < width <= _KERNEL_SIDE
        ):
            return None
        texts.append(counts)
        sides += size
    return (texts, np.array(sides, np.int64).reshape(-1, 2)) if texts else None


def _decoded_texts(texts: Sequence[bytes], sizes: Integers) -> Masks | None:
    """The masks of plain texts, all at once; None if one of them is no mask."""
    joined, count = b"".join(texts), len(texts)
    lengths = np.array([len(text) for text in texts], np.int64)
    ends = np.cumsum(lengths)
    room = len(joined) // 2 + count
    starts, stops = np.empty(room, np.int64), np.empty(room, np.int64)
    indptr, areas = np.zeros(count + 1, np.int64), np.empty(count, np.int64)
    extents, status = np.empty((count, 4), np.int64), np.empty(count, np.uint8)
    done = kernels.read_segments(
        np.frombuffer(joined, np.uint8), ends - lengths, ends,
        np.full(count, kernels.Kind.SIGNS, np.int64), sizes, 0, starts, stops, indptr, areas, extents, status,
    )  # fmt: skip
    if done < count or (status == kernels.UNREAD).any():
        return None
    runs = int(indptr[-1])
    return Masks("column", starts[:runs], stops[:runs], indptr, sizes, areas, extents)


def _checked_counts(counts: object) -> Integers:
    if not isinstance(counts, (list, tuple, np.ndarray)):
        raise MaskError(f"`counts` is a list of run lengths or COCO's text, not {type(counts).__name__}.")
    if not all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in counts):
        raise MaskError("`counts` holds something that is not a whole number.")
    if any(not 0 <= n < 1 << 53 for n in counts):
        raise MaskError("`counts` holds a negative number, or one beyond any image.")
    return np.array(counts, np.int64)


def _counts_of(masks: Masks, place: int) -> Integers:
    """Background, mask, background … of one mask; what would be a last 0 is left out."""
    begin, end = int(masks.indptr[place]), int(masks.indptr[place + 1])
    edges = np.stack([masks.starts[begin:end], masks.stops[begin:end]], axis=1).reshape(-1)
    pixels = int(masks.shapes[place].prod())
    counts = np.diff(edges, prepend=0, append=pixels)
    return counts[:-1] if len(counts) > 1 and counts[-1] == 0 else counts


def _text_of_counts(counts: Integers) -> str:
    values = counts.copy()
    values[3:] -= counts[1:-2]
    # A number takes the fewest signs whose five bits each hold it and its sign.
    signs = np.ones(len(values), np.int64)
    for more in range(1, _MOST_SIGNS):
        half = 1 << (5 * more - 1)
        signs += (values < -half) | (values >= half)
    place = np.repeat(np.cumsum(signs) - signs, signs)
    number = np.arange(len(place)) - place
    bits = (np.repeat(values, signs) >> (5 * number)) & 31
    bits |= (number + 1 < np.repeat(signs, signs)) * 32
    return (bits + 48).astype(np.uint8).tobytes().decode("ascii")


def counts_from_text(text: str | bytes) -> list[int]:
    """The counts of COCO's compressed text; raises MaskError where a number is cut or a sign is foreign.

    Five bits a character, least first, from the third number on as the difference to the one two before.

    >>> counts_from_text("52203")
    [5, 2, 2, 2, 5]
    """
    counts: list[int] = []
    value = shift = 0
    for sign in text if isinstance(text, bytes) else map(ord, text):
        bits = sign - 48
        if not 0 <= bits < 64 or shift > 60:
            raise MaskError(f"COCO's run text holds the sign {chr(sign)!a} or a number without end.")
        value |= (bits & 31) << shift
        shift += 5
        if not bits & 32:
            if bits & 16:
                value -= 1 << shift
            counts.append(value + (counts[-2] if len(counts) > 2 else 0))
            value = shift = 0
    if shift:
        raise MaskError("COCO's run text ends in the middle of a number.", "Was the string cut?")
    return counts
