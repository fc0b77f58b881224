"""Run-length text from sets of pixels and back, one pixel at a time.

`between` stands between a run's start and its length; `after` closes every run. An empty `after` says that
nothing closes a run: then `between` also stands between one run and the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from tests.reference.scene import Pixels

Order: TypeAlias = Literal["row", "column"]


class Dialect(NamedTuple):
    """What a page says about its runs: `encode(pixels, height, width, *dialect)`."""

    order: Order
    origin: int
    between: str = " "
    after: str = ""


WAD = Dialect(order="row", origin=0, after="|")
BADLAD = Dialect(order="column", origin=1)
DSB = Dialect(order="column", origin=1)


def places(height: int, width: int, order: Order) -> list[int]:
    """Every pixel (numbered by rows, from 0) in the order in which the file counts them."""
    if order == "row":
        return [row * width + column for row in range(height) for column in range(width)]
    return [row * width + column for column in range(width) for row in range(height)]


def encode(
    pixels: Pixels, height: int, width: int, order: Order, origin: int, between: str = " ", after: str = ""
) -> str:
    """The runs of a mask as text; a run goes on across the end of a line, an empty mask is ''."""
    runs: list[list[int]] = []
    inside = False
    for number, pixel in enumerate(places(height, width, order), start=origin):
        if pixel not in pixels:
            inside = False
        elif inside:
            runs[-1][1] += 1
        else:
            runs.append([number, 1])
            inside = True
    written = [f"{start}{between}{length}" for start, length in runs]
    if after:
        return "".join(run + after for run in written)
    return between.join(written)


def decode(
    text: str, height: int, width: int, order: Order, origin: int, between: str = " ", after: str = ""
) -> Pixels:
    """The pixels that a text names; ValueError for anything but positive runs inside the image."""
    if after and text and not text.endswith(after):
        raise ValueError(f"{text!r} does not end with {after!r}")
    words = text.replace(after, between).split(between) if after else text.split(between)
    numbers = [int(word) for word in words if word]
    if len(numbers) % 2:
        raise ValueError(f"{text!r} has a start without a length")
    places_in_file = places(height, width, order)
    pixels: set[int] = set()
    for start, length in zip(numbers[::2], numbers[1::2], strict=True):
        if length < 1 or start < origin or start - origin + length > height * width:
            raise ValueError(f"the run {start} {length} does not lie inside {height} x {width}")
        for number in range(start, start + length):
            pixel = places_in_file[number - origin]
            if pixel in pixels:
                raise ValueError(f"{text!r} names pixel {number} twice")
            pixels.add(pixel)
    return frozenset(pixels)
