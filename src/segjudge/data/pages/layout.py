"""Where things go on a page: books, magazines, newspapers, forms and deeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from segjudge.data.pages.ink import Type
    from segjudge.data.pages.sheet import Sheet

__all__ = ["LAYOUTS"]


def _column(
    sheet: Sheet, font: Type, large: Type, left: int, top: int, width: int, bottom: int, extras: float
) -> None:
    """Fill a column with paragraphs, and now and then a heading, a picture or a table."""
    rng = sheet.rng
    leading = round(font.tall * rng.uniform(0.98, 1.22))
    space, indent = int(rng.uniform(0.3, 0.9) * leading), bool(rng.random() < 0.4)
    row = top
    while row + 2 * leading < bottom:
        chance, room = rng.random(), bottom - row
        if chance < extras * 0.45 and room > width * 0.5:
            row = _captioned(sheet, font, left, row, width, min(room, round(width * rng.uniform(0.4, 0.85))))
        elif chance < extras * 0.6 and room > 6 * font.tall and width > 18 * font.size:
            rows = min(int(rng.integers(3, 9)), int(room / (1.35 * font.tall)) - 1)
            row = sheet.table(font, left, row + 4, width, rows, int(rng.integers(3, 6))) + space + 4
        elif chance < extras and room > 3 * large.tall and large.size * 5 < width:
            row = (
                sheet.heading(
                    large, left, row, width, rng.uniform(0.45, 0.95), centred=bool(rng.random() < 0.5)
                )
                + 2
            )
        else:
            lines = min(1 + int(rng.poisson(4.5)), (room - font.tall) // leading + 1)
            row = sheet.text(
                font, left, row, width, lines, leading, indent=indent, last=float(rng.uniform(0.25, 1.0))
            )
        row += space


def _captioned(sheet: Sheet, font: Type, left: int, row: int, width: int, tall: int) -> int:
    rng = sheet.rng
    caption = font.tall + 6 if rng.random() < 0.7 else 0
    narrow = width if rng.random() < 0.6 else round(width * 0.7)
    side = left + (width - narrow) // 2
    row = (
        sheet.picture(side, row + 3, narrow, max(30, tall - caption - 6), coloured=bool(rng.random() < 0.35))
        + 3
    )
    if caption:
        row = sheet.heading(font, left, row, width, rng.uniform(0.3, 0.9))
    return row


def _margins(sheet: Sheet) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of what is printed."""
    rng = sheet.rng
    return (
        round(sheet.width * rng.uniform(0.07, 0.13)),
        round(sheet.height * rng.uniform(0.06, 0.11)),
        round(sheet.width * rng.uniform(0.88, 0.93)),
        round(sheet.height * rng.uniform(0.88, 0.94)),
    )


def book(sheet: Sheet, font: Type, large: Type) -> None:
    """One column, a page number, a running head, now and then a chapter's title."""
    rng = sheet.rng
    left, top, right, bottom = _margins(sheet)
    if rng.random() < 0.7:
        sheet.heading(font, left, top - round(1.8 * font.tall), right - left, rng.uniform(0.2, 0.5))
    if rng.random() < 0.7:
        sheet.heading(font, left, bottom + font.tall // 3, right - left, 0.08)
    if rng.random() < 0.35:
        top = (
            sheet.heading(large, left, top + large.tall // 2, right - left, rng.uniform(0.3, 0.7))
            + large.tall // 2
        )
    _column(sheet, font, large, left, top, right - left, bottom, 0.14)


def magazine(sheet: Sheet, font: Type, large: Type) -> None:
    """A title over two columns with pictures."""
    rng = sheet.rng
    left, top, right, bottom = _margins(sheet)
    top = (
        sheet.heading(large, left, top, right - left, rng.uniform(0.5, 0.95), lines=int(rng.integers(1, 3)))
        + 8
    )
    if rng.random() < 0.5:
        tall = round(sheet.height * rng.uniform(0.15, 0.28))
        top = sheet.picture(left, top, right - left, tall, coloured=bool(rng.random() < 0.6)) + 10
    gutter = round(sheet.width * 0.035)
    half = (right - left - gutter) // 2
    for start in (left, left + half + gutter):
        _column(sheet, font, large, start, top, half, bottom, 0.3)


def newspaper(sheet: Sheet, font: Type, large: Type) -> None:
    """Stories over several columns, parted by rules."""
    rng = sheet.rng
    left, top, right, bottom = (
        round(sheet.width * 0.04),
        round(sheet.height * 0.04),
        round(sheet.width * 0.96),
        round(sheet.height * 0.97),
    )
    columns = int(rng.integers(3, 6))
    gutter = round(sheet.width * 0.022)
    wide = (right - left - gutter * (columns - 1)) // columns
    row = top
    while row < bottom - 8 * font.tall:
        deep = min(bottom - row, round(sheet.height * rng.uniform(0.25, 0.5)))
        first = 0
        while first < columns:
            span = min(int(rng.integers(1, 4)), columns - first)
            x = left + first * (wide + gutter)
            across = span * wide + (span - 1) * gutter
            below = (
                sheet.heading(large, x, row, across, rng.uniform(0.6, 0.98), lines=1 if span > 1 else 2) + 3
            )
            for place in range(span):
                start = x + place * (wide + gutter)
                _column(sheet, font, large, start, below, wide, row + deep - 4, 0.16)
            if first:
                sheet.rule(x - gutter / 2, row, x - gutter / 2, row + deep - 6, 1, 0.6)
            first += span
        row += deep + 6
        sheet.rule(left, row - 5, right, row - 5, 2, 0.7)


def form(sheet: Sheet, font: Type, large: Type) -> None:
    """An office's letter: heads, short lines in boxes of their own, a table, a signature."""
    rng = sheet.rng
    left, top, right, bottom = _margins(sheet)
    row = sheet.heading(large, left, top, right - left, rng.uniform(0.3, 0.6))
    row = (
        sheet.heading(font, left, row, right - left, rng.uniform(0.3, 0.6), lines=int(rng.integers(1, 4))) + 8
    )
    for _ in range(rng.integers(3, 8)):
        half = (right - left) // 2
        sheet.heading(font, left, row, half - 12, rng.uniform(0.4, 0.9), centred=False)
        if rng.random() < 0.6:
            sheet.heading(font, left + half, row, half, rng.uniform(0.3, 0.9), centred=False)
        row += round(font.tall * 1.6)
    row += 6
    rows = min(int(rng.integers(4, 14)), int((bottom - row) / (1.35 * font.tall)) - 4)
    if rows > 2:
        row = sheet.table(font, left, row, right - left, rows, int(rng.integers(3, 7))) + 14
    if row + 5 * font.tall < bottom:
        leading = round(font.tall * 1.15)
        lines = min(int(rng.integers(2, 8)), (bottom - row) // leading - 2)
        row = sheet.text(font, left, row, right - left, lines, leading, indent=False, last=0.6) + 16
    if row + 2 * font.tall < bottom:
        sheet.heading(font, right - (right - left) // 3, row, (right - left) // 3, 0.7, lines=2)


def deed(sheet: Sheet, font: Type, large: Type) -> None:
    """A deed: a wide printed stamp above, a seal, and lines set far apart."""
    rng = sheet.rng
    left, top, right, bottom = _margins(sheet)
    tall = round(sheet.height * rng.uniform(0.12, 0.2))
    row = sheet.picture(left, top, right - left, tall, coloured=True) + 12
    row = sheet.heading(large, left, row, right - left, rng.uniform(0.4, 0.8)) + 6
    leading = round(font.tall * rng.uniform(1.4, 1.9))
    while row + 4 * leading < bottom:
        lines = min(int(rng.integers(3, 9)), (bottom - row - font.tall) // leading)
        row = (
            sheet.text(
                font,
                left,
                row,
                right - left,
                lines,
                leading,
                indent=True,
                last=float(np.clip(rng.normal(0.6, 0.2), 0.2, 1)),
            )
            + 4
        )
    if rng.random() < 0.6 and row + 2 * font.tall < sheet.height:
        sheet.heading(font, left, row, (right - left) // 2, 0.7, centred=False)


LAYOUTS: tuple[Callable[[Sheet, Type, Type], None], ...] = (book, magazine, newspaper, form, deed)
