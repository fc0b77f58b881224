"""Fonts that are installed: where they lie and which characters they have. Nothing is downloaded."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING

from segjudge.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["PLACES", "characters", "installed", "missing_font"]

#: The environment's name for a folder of fonts that is searched before the usual ones.
_OWN = "SEGJUDGE_FONTS"

#: Where systems keep fonts.
PLACES = (
    "~/.local/share/fonts",
    "~/.fonts",
    "/usr/local/share/fonts",
    "/usr/share/fonts",
    "/Library/Fonts",
    "C:/Windows/Fonts",
)


def installed(names: Sequence[str]) -> dict[str, Path]:
    """The path of each of these files that is installed, in the order of the names."""
    wanted, found = set(names), dict[str, Path]()
    for place in (os.environ.get(_OWN), *PLACES):
        if place:
            for folder, below, files in os.walk(Path(place).expanduser()):
                below.sort()
                for name in wanted.intersection(files):
                    found.setdefault(name, Path(folder, name))
    return {name: found[name] for name in names if name in found}


def missing_font(what: str, packages: Sequence[str]) -> UsageError:
    """The error for a font that is not installed: it names Debian's packages and the places searched."""
    return UsageError(
        f"{what} is not installed: searched {', '.join(PLACES)}.",
        f"On Debian and Ubuntu: apt install {' '.join(packages)}. Elsewhere put the font into one of these "
        f"folders, or name its folder in {_OWN}; without fonts, the drawn art does.",
    )


def characters(data: bytes) -> tuple[frozenset[str], tuple[int, ...]]:
    """The names of a font file's tables, and the code points that it has glyphs for, ascending.

    Read from the table `cmap`, of the forms 4 and 12; raises ValueError for what is no font.
    """
    try:
        tables = dict(_tables(data))
        points = _points(data, tables["cmap"])
    except (struct.error, KeyError) as error:
        raise ValueError("the file is no font that can be read") from error
    return frozenset(tables), tuple(sorted(points))


def _tables(data: bytes) -> Iterable[tuple[str, int]]:
    """Name and begin of each table of a TrueType or OpenType font."""
    if data[:4] not in {b"\0\1\0\0", b"OTTO", b"true"}:
        raise KeyError("cmap")
    (count,) = struct.unpack_from(">H", data, 4)
    for number in range(count):
        name, _, begin, _ = struct.unpack_from(">4sLLL", data, 12 + 16 * number)
        yield name.decode("latin-1"), begin


def _points(data: bytes, begin: int) -> set[int]:
    _, count = struct.unpack_from(">HH", data, begin)
    points: set[int] = set()
    for number in range(count):
        _, _, offset = struct.unpack_from(">HHL", data, begin + 4 + 8 * number)
        (form,) = struct.unpack_from(">H", data, begin + offset)
        if form == 12:
            points |= _groups(data, begin + offset)
        elif form == 4:
            points |= _segments(data, begin + offset)
    return points


def _groups(data: bytes, begin: int) -> set[int]:
    """The code points of a subtable of form 12: ranges."""
    (count,) = struct.unpack_from(">L", data, begin + 12)
    points: set[int] = set()
    for number in range(count):
        first, last, _ = struct.unpack_from(">LLL", data, begin + 16 + 12 * number)
        if last > 0x10FFFF:
            raise KeyError("cmap")
        points.update(range(first, last + 1))
    return points


def _segments(data: bytes, begin: int) -> set[int]:
    """The code points of a subtable of form 4: ranges of the first plane, the last being its end."""
    (twice,) = struct.unpack_from(">H", data, begin + 6)
    ends = struct.unpack_from(f">{twice // 2}H", data, begin + 14)
    starts = struct.unpack_from(f">{twice // 2}H", data, begin + 16 + twice)
    points: set[int] = set()
    for first, last in zip(starts, ends, strict=True):
        points.update(range(first, last + 1))
    return points - {0xFFFF}
