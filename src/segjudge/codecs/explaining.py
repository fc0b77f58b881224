"""What is wrong with a cell of runs, in words that a tired student understands."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, NamedTuple

from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Explainer", "Problem"]

_MOST_DIGITS = 18  # of a number in a run, as in the kernels
_BEYOND = 10**_MOST_DIGITS - 1  # no image has so many pixels
_SHOWN = 40  # characters of a faulty cell that a message repeats
_NUMBER = re.compile(r"[0-9]+")
_FOREIGN = re.compile(r"[^0-9A-Za-z.+\- ]")
_WORD = re.compile(r"[0-9A-Za-z.+\-]+")
_SIGNED = re.compile(r"-0*[1-9][0-9]*")  # -0 is no start below 0, and no plain number
_EMPTY_WORDS = frozenset({"nan", "none", "null", "na", "n/a", "-", "[]", "''", '""', "empty", "-1"})
_EMPTY_CELL = "If the mask is empty, leave the cell empty: nothing between the commas."
_NO_ROW = "If the mask is empty, leave the row out."


class Problem(NamedTuple):
    """What is wrong with one cell: the finding's code, a reason and advice."""

    code: str
    message: str
    advice: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Explainer:
    """Reads a cell of one dialect slowly, and says everything that is wrong with it."""

    origin: int
    between: str
    after: str

    def problems(
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
