"""Text and arrays to masks and back: the run-length dialects of the pages, and COCO's.

`Rle` says which dialect; `read` takes cells in bulk and tells which are plain, `explain` says in words
what is wrong with one that is not.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segjudge import kernels
from segjudge.errors import MaskError
from segjudge.masks import Masks, Order, mask_edges

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["CocoRle", "Problem", "Rle", "Scratch"]

Integers = NDArray[np.int64]

_MOST_DIGITS = 18  # of a number in a run, as in the kernels
_LONGEST_SIDE = 1 << 24  # pixels: the product of two sides stays far within 64 bits
_BEYOND = 10**_MOST_DIGITS - 1  # no image has so many pixels
_SHOWN = 40  # characters of a faulty cell that a message repeats
_NUMBER = re.compile(r"[0-9]+")
_FOREIGN = re.compile(r"[^0-9A-Za-z.+\- ]")
_WORD = re.compile(r"[0-9A-Za-z.+\-]+")
_SIGNED = re.compile(r"-[0-9]+")
_EMPTY_WORDS = frozenset({"nan", "none", "null", "na", "n/a", "-", "[]", "''", '""', "empty", "-1"})
_EMPTY_CELL = "If the mask is empty, leave the cell empty: nothing between the commas."
_NO_ROW = "If the mask is empty, leave the row out."


class Problem(NamedTuple):
    """What is wrong with one cell: the finding's code, a reason and advice."""

    code: str
    message: str
    advice: str = ""


class Scratch:
    """Memory for decoded runs that is used again and again; a set of masks lives until the next is read."""

    __slots__ = ("starts", "stops")

    def __init__(self) -> None:
        self.starts = np.empty(0, np.int64)
        self.stops = np.empty(0, np.int64)

    def reserve(self, runs: int) -> tuple[Integers, Integers]:
        """Room for so many starts and stops."""
        if runs > len(self.starts):
            self.starts = np.empty(runs + runs // 4, np.int64)
            self.stops = np.empty_like(self.starts)
        return self.starts, self.stops


@dataclass(frozen=True, slots=True)
class Rle:
    """A run-length dialect: `start length` pairs of pixels numbered in `order` from `origin`.

    `between` parts a start from its length. `after` closes each pair; without it pairs are parted by
    `between` too. WAD 2018 is `Rle("row", 0, after="|")` ("each pair delimited by `|`", "zero-indexed and
    numbered from left to right, then top to bottom"); BaDLAD is `Rle("column", 1)`.

    >>> mask = np.array([[0, 1, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0]], bool)
    >>> Rle("column", 1).encode(mask), Rle("row", 0, after="|").encode(mask)
    ('4 3 9 1', '1 1|5 1|9 2|')
    """

    order: Order = "column"
    origin: int = 1
    between: str = " "
    after: str = ""

    def __post_init__(self) -> None:
        if self.order not in {"row", "column"}:
            raise MaskError(f"The order is 'row' or 'column', not {self.order!r}.")
        if self.origin not in {0, 1}:
            raise MaskError(f"The first pixel is number 0 or 1, not {self.origin!r}.")
        for mark in (self.between, self.after or " "):
            if len(mark) != 1 or mark.isdigit() or not mark.isascii() or mark in '-+."\n\r':
                raise MaskError(f"A mark is one ASCII character that is no part of a number, not {mark!r}.")
        if self.between == self.after:
            raise MaskError("`between` and `after` must differ, or `after` be empty.")

    @property
    def marks(self) -> tuple[int, int]:
        """The bytes of `between` and `after` (0: none), as the kernels take them."""
        return ord(self.between), ord(self.after) if self.after else 0

    def encode(self, mask: NDArray[Any]) -> str:
        """The text of one mask (height, width) of two values; raises MaskError if there are more."""
        edges = mask_edges(np.asarray(mask), self.order)
        indptr = np.array([0, len(edges) // 2], np.int64)
        text, _ = kernels.format_runs(
            np.ascontiguousarray(edges[::2]),
            np.ascontiguousarray(edges[1::2]),
            indptr,
            self.origin,
            *self.marks,
        )
        return text.tobytes().decode("ascii")

    def encode_masks(self, masks: Masks) -> list[str]:
        """The texts of masks; they are renumbered if they come in the other order."""
        masks = masks.reordered(self.order)
        begin = masks.indptr[0]
        runs = slice(begin, masks.indptr[-1])
        text, ends = kernels.format_runs(
            masks.starts[runs], masks.stops[runs], masks.indptr - begin, self.origin, *self.marks
        )
        whole = text.tobytes().decode("ascii")
        return [whole[a:b] for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]

    def decode(self, texts: Sequence[str], shape: tuple[int, int] | None = None) -> Masks:
        """The masks of cells, all of one shape (height, width); raises MaskError at the first that is none.

        Runs that are not sorted are sorted; runs that share pixels are an error.

        >>> Rle("column", 1).decode(["4 3 9 1"], shape=(3, 4)).dense().astype(int)[0].tolist()
        [[0, 1, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0]]
        """
        cells = [text.encode() for text in texts]
        ends = np.cumsum([len(cell) for cell in cells], dtype=np.int64)
        begins = ends - np.array([len(cell) for cell in cells], np.int64)
        shapes = np.tile(np.array(shape or (-1, -1), np.int64), (len(cells), 1))
        masks, status = self.read(np.frombuffer(b"".join(cells), np.uint8), begins, ends, shapes, Scratch())
        for place in np.flatnonzero(status & kernels.BAD).tolist():
            problem = next(self.explain(texts[place], shape))
            raise MaskError(f"Mask {place}: {problem.message}", problem.advice)
        return masks

    def read(
        self, text: NDArray[np.uint8], begins: Integers, ends: Integers, shapes: Integers, scratch: Scratch
    ) -> tuple[Masks, NDArray[np.uint8]]:
        """The masks of cells `text[begins[i]:ends[i]]` and the kernels' status of each.

        A cell with status BAD gets no runs; one with UNSORTED has been sorted. The masks live in the
        scratch, until it is used again.
        """
        known = shapes[:, 0] >= 0
        pixels = np.where(known, shapes[:, 0] * shapes[:, 1], -1)
        line = np.where(known, shapes[:, 1] if self.order == "row" else shapes[:, 0], 0)
        starts, stops = scratch.reserve(int(((ends - begins + 1) // 4).sum()))
        indptr, areas, extents, status = kernels.parse_runs(
            text, begins, ends, pixels, line, self.origin, *self.marks, starts, stops
        )
        runs = int(indptr[-1])
        masks = Masks(self.order, starts[:runs], stops[:runs], indptr, shapes, areas, extents)
        if (status & kernels.UNSORTED).any():
            masks, status = _sorted(masks, status)
        return masks, status

    # ------------------------------------------------------------------------------- what is wrong, in words

    def explain(
        self, cell: str, shape: tuple[int, int] | None = None, *, empty_rows: bool = True
    ) -> Iterator[Problem]:
        """All that is wrong with a cell, one problem of each kind, in the order in which people mend them.

        Nothing is given for a cell that is right; at least one problem for each that `read` calls BAD.
        `empty_rows` says whether this task writes an empty cell for an empty mask, or no row at all.
        """
        empty_advice = _EMPTY_CELL if empty_rows else _NO_ROW
        text = cell.strip(" ")
        if not text:
            return
        if text.lower() in _EMPTY_WORDS or text.startswith(("[", "(", "{")):
            yield Problem(
                "rle-not-integer",
                f'The cell holds "{_short(text)}", which is not `{self._example()}`.',
                empty_advice
                if text == "-1" or not any(char.isdigit() for char in text)
                else f"A Python list or array was printed; write the numbers as plain text. {empty_advice}",
            )
            return
        pairs: list[tuple[str, str]] = []
        seen: set[str] = set()
        for problem in self._split(text, pairs):
            if problem.code not in seen:
                seen.add(problem.code)
                yield problem
        runs: list[tuple[int, int]] = []
        for problem in self._numbers(pairs, shape, runs, empty_advice):
            if problem.code not in seen:
                seen.add(problem.code)
                yield problem
        yield from self._disorder(runs)

    def unsorted(self, cell: str) -> Problem:
        """The problem of a cell whose runs are not in ascending order."""
        numbers = [int(number) for number in _NUMBER.findall(cell)]
        starts = numbers[::2]
        place = next((k for k in range(1, len(starts)) if starts[k] < starts[k - 1]), 0)
        return Problem(
            "rle-unsorted",
            f"The run that starts at {starts[place]} stands behind one that starts at {starts[place - 1]}.",
            "Sort the runs of a mask by start.",
        )

    def _example(self) -> str:
        return f"start{self.between}length{self.after}"

    def _split(self, text: str, pairs: list[tuple[str, str]]) -> Iterator[Problem]:
        """Cuts the cell into pairs of words, and says where marks are wrong."""
        foreign = sorted(set(_FOREIGN.findall(text)) - {self.between, self.after})
        if foreign:
            yield self._wrong_mark(f'The cell holds {foreign[0]!r} between numbers: "{_short(text)}".')
            words = _WORD.findall(text)
            pairs += zip(words[::2], words[1::2], strict=False)
            return
        between = _pattern(self.between)
        if not self.after:
            words = re.split(between, text)
            yield from self._misplaced(words, text)
            if len(words) % 2 and all(words):
                yield self._odd(words[-1], len(words))
            pairs += zip(words[::2], words[1::2], strict=False)
            return
        if self.after == " ":
            text = re.sub(between, self.between, text)
        parts = re.split(_pattern(self.after), text)
        for part in parts if parts[-1] else parts[:-1]:
            words = re.split(between, part)
            yield from self._misplaced(words, part)
            if len(words) == 1 and words[0] and " " not in words[0]:
                yield self._odd(words[0], 1)
            elif len(words) > 2:
                yield self._wrong_mark(
                    f'{len(words)} numbers stand between two {_name(self.after)} signs: "{_short(part)}".'
                )
            pairs += zip(words[::2], words[1::2], strict=False)

    def _misplaced(self, words: list[str], text: str) -> Iterator[Problem]:
        """Marks with nothing beside them, and spaces where another mark belongs."""
        if any(not word or " " in word for word in words):
            yield self._wrong_mark(f'Marks are missing or doubled in "{_short(text)}".')

    def _wrong_mark(self, message: str) -> Problem:
        pair = self._example()
        if self.after:
            advice = f"Close every pair of start and length with {_name(self.after)}: `{pair}`."
        else:
            advice = f"This task writes runs as `{pair}`, parted by {_name(self.between)}."
        return Problem("rle-bad-delimiter", message, advice)

    def _odd(self, word: str, count: int) -> Problem:
        return Problem(
            "rle-odd-tokens",
            f'"{_short(word)}" has no partner: {count} numbers do not make pairs of start and length.',
            "Write a length behind every start. An odd count often means that the mask held other values than "
            "0 and 1 when it was encoded, or that the line was cut.",
        )

    def _numbers(
        self,
        pairs: list[tuple[str, str]],
        shape: tuple[int, int] | None,
        runs: list[tuple[int, int]],
        empty_advice: str,
    ) -> Iterator[Problem]:
        """Reads the words as numbers, and says which cannot be pixels of the image."""
        pixels = shape[0] * shape[1] if shape and shape[0] >= 0 else None
        last = None if pixels is None else pixels - 1 + self.origin
        for start, length in pairs:
            pair = f'"{_short(start)}{self.between}{_short(length)}"'
            words = [w for w in (start, length) if not _NUMBER.fullmatch(w) and not _SIGNED.fullmatch(w)]
            if words:
                yield Problem(
                    "rle-not-integer",
                    f'"{_short(words[0])}" in the run {pair} is not a whole number.',
                    "Starts and lengths are whole numbers in plain digits: cast to int before writing.",
                )
                continue
            padded = [
                w for w in (start, length) if len(w) > _MOST_DIGITS and len(w.lstrip("-0")) <= _MOST_DIGITS
            ]
            if padded:
                yield Problem(
                    "rle-not-integer",
                    f"A number in the run {pair} is padded to {len(padded[0])} digits.",
                    f"Write numbers of at most {_MOST_DIGITS} digits.",
                )
                continue
            first, count = _clipped(start), _clipped(length)
            if first < self.origin:
                yield Problem(
                    "rle-start-below-base",
                    f"The run {pair} starts at {_short(start)}, but the first pixel has the number {self.origin}.",
                    "Add 1 to every start: this task counts pixels from 1."
                    if self.origin == 1
                    else "Pixel numbers start at 0 and are never negative.",
                )
            if count <= 0:
                yield Problem(
                    "rle-bad-length",
                    f"The run {pair} has the length {_short(length)}.",
                    empty_advice if len(pairs) == 1 else "Leave runs without pixels out.",
                )
            elif last is not None and first + count - 1 > last:
                height, width = shape or (0, 0)
                yield Problem(
                    "rle-out-of-bounds",
                    f"The run {pair} ends at pixel {first + count - 1}; the image has {height} rows and {width} "
                    f"columns, so its last pixel is {last}.",
                    "Encode the mask at the image's own size, (height, width) not swapped."
                    + (" The first pixel has the number 0." if self.origin == 0 else ""),
                )
            elif last is None and first + count > _BEYOND:
                yield Problem("rle-out-of-bounds", f"The run {pair} lies outside any image.", "")
            if first >= self.origin and count > 0:
                runs.append((first, count))

    def _disorder(self, runs: list[tuple[int, int]]) -> Iterator[Problem]:
        ordered = sorted(runs)
        for (start, length), (following, other) in itertools.pairwise(ordered):
            if start + length > following:
                yield Problem(
                    "rle-overlap",
                    f'The run "{start}{self.between}{length}" covers pixels up to {start + length - 1}, and the run '
                    f'"{following}{self.between}{other}" starts at {following}.',
                    "Join masks pixel by pixel (logical or) before encoding; every pixel stands in one run only.",
                )
                return


def _clipped(number: str) -> int:
    """The number; one of absurd length as a large one of the same sign."""
    if len(number.lstrip("-0")) > _MOST_DIGITS:
        return -(1 << 62) if number.startswith("-") else 1 << 62
    return int(number)


def _short(text: str) -> str:
    """Foreign text as a message may show it: not long, and nothing that moves a terminal's cursor."""
    shown = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    return "".join(char if char.isprintable() else "�" for char in shown)


def _pattern(mark: str) -> str:
    """A mark with the spaces that may stand around it."""
    return " +" if mark == " " else f" *{re.escape(mark)} *"


def _name(mark: str) -> str:
    return "a space" if mark == " " else f"`{mark}`"


def _sorted(masks: Masks, status: NDArray[np.uint8]) -> tuple[Masks, NDArray[np.uint8]]:
    """Masks with disordered runs sorted and joined; those whose runs share pixels become BAD."""
    owner = np.repeat(np.arange(len(masks)), np.diff(masks.indptr))
    order = np.lexsort((masks.starts, owner))
    starts, stops = masks.starts[order], masks.stops[order]
    same = owner[1:] == owner[:-1]
    bad = np.unique(owner[1:][same & (starts[1:] < stops[:-1])])
    status = status.copy()
    status[bad] = kernels.BAD
    head = np.concatenate([[True], ~(same & (starts[1:] == stops[:-1]))])
    tail = np.concatenate([head[1:], [True]])
    kept = ~np.isin(owner, bad)
    begin, end = head & kept, tail & kept
    counts = np.bincount(owner[begin], minlength=len(masks))
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    areas, extents = masks.areas.copy(), masks.extents.copy()
    areas[bad], extents[bad] = 0, 0
    return Masks(masks.order, starts[begin], stops[end], indptr, masks.shapes, areas, extents), status


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
        return Masks.concatenate((self._decode(item) for item in objects), "column")

    def encode(self, mask: NDArray[Any]) -> dict[str, Any]:
        """The object of a mask (height, width) of two values, with uncompressed counts."""
        array = np.asarray(mask)
        edges = mask_edges(array, "column")
        height, width = (int(side) for side in array.shape)
        counts = np.diff(np.concatenate([[0], edges, [height * width]])).tolist()
        if len(counts) > 1 and counts[-1] == 0:
            counts.pop()
        return {"size": [height, width], "counts": counts}

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


def _checked_counts(counts: object) -> Integers:
    if not isinstance(counts, (list, tuple, np.ndarray)):
        raise MaskError(f"`counts` is a list of run lengths or COCO's text, not {type(counts).__name__}.")
    if not all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in counts):
        raise MaskError("`counts` holds something that is not a whole number.")
    if any(not 0 <= n < 1 << 53 for n in counts):
        raise MaskError("`counts` holds a negative number, or one beyond any image.")
    return np.array(counts, np.int64)


def counts_from_text(text: str | bytes) -> list[int]:
    """The counts of COCO's compressed text; raises MaskError where a number is cut or a sign is foreign.

    Five bits a character, least first, from the third number on as the difference to the one two before.

    >>> counts_from_text("52203")
    [5, 2, 2, 2, 5]
    """
    data = text.encode("ascii", "replace") if isinstance(text, str) else text
    counts: list[int] = []
    value = shift = 0
    for byte in data:
        bits = byte - 48
        if not 0 <= bits < 64 or shift > 60:
            raise MaskError(f"COCO's run text holds the sign {chr(byte)!r} or a number without end.")
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
