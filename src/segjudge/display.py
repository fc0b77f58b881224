"""Plain data as HTML and CSV: what a notebook shows, and what a spreadsheet opens.

HTML is tables of text without scripts, links or colours, so that it reads well on light and dark pages; all
text is escaped. CSV is UTF-8 text with a header, lines that end in a line feed, and an empty cell for what
is not there. Nothing of segjudge is imported here: results of every kind can be shown.
"""

from __future__ import annotations

import base64
import html
import itertools
import struct
import zlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "MOST_PIXELS",
    "MOST_ROWS",
    "SIDE",
    "counted",
    "csv_text",
    "diagnosis_html",
    "harmless",
    "levels",
    "masks_html",
    "result_html",
    "task_html",
    "thumbnail",
]

#: How many rows of a table are shown; CSV has all of them.
MOST_ROWS = 50
#: The longer side of a thumbnail, in pixels, is at most this.
SIDE = 160
#: A mask of more pixels is not drawn.
MOST_PIXELS = 4_000_000

_TABLE = "border-collapse:collapse;margin:.4em 0"
_CELL = "text-align:left;vertical-align:top;padding:.15em .8em .15em 0;border-bottom:1px solid rgba(128,128,128,.4)"
_CAPTION = "caption-side:top;text-align:left;font-weight:bold;color:inherit"
_PICTURE = "image-rendering:pixelated;border:1px solid rgba(128,128,128,.6)"

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


class _Markup(str):
    """HTML that is made here and is not escaped again."""

    __slots__ = ()


# ------------------------------------------------------------------------------------------------- words


def counted(number: int, word: str) -> str:
    """A number and its word, in the plural unless it is one.

    >>> counted(1, "image"), counted(12, "image")
    ('1 image', '12 images')
    """
    return f"{number} {word}{'' if number == 1 else 's'}"


def levels(totals: Mapping[str, int], errors: int, kept: Iterable[tuple[str, str]]) -> list[str]:
    """How many errors, warnings and notes there are, those that there are.

    `totals` counts all findings by code and `errors` those that refuse; `kept` are the code and level of
    the findings at hand. A code whose findings at hand are all notes counts as notes.

    >>> levels({"missing-id": 30, "extra-file": 1}, 30, [("missing-id", "error"), ("extra-file", "note")])
    ['30 errors', '1 note']
    """
    seen: dict[str, set[str]] = {}
    for code, level in kept:
        seen.setdefault(code, set()).add(level)
    notes = sum(totals.get(code, 0) for code, found in seen.items() if found == {"note"})
    warnings = sum(totals.values()) - errors - notes
    numbers = ((errors, "error"), (warnings, "warning"), (notes, "note"))
    return [counted(number, word) for number, word in numbers if number > 0]


# --------------------------------------------------------------------------------------------------- CSV


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    r"""A table as CSV: None is an empty cell, and a number is written so that it reads back the same.

    >>> csv_text(["image", "score"], [["a,b", 0.5], ["c", None]])
    'image,score\n"a,b",0.5\nc,\n'
    """
    return "".join(",".join(map(_csv_cell, row)) + "\n" for row in itertools.chain([header], rows))


def harmless(text: str | None) -> str | None:
    """The text behind a `'` if a spreadsheet would take it for a formula.

    >>> harmless("=1+1"), harmless("a=1")
    ("'=1+1", 'a=1')
    """
    return f"'{text}" if text is not None and text.startswith(_FORMULA) else text


def _csv_cell(value: object) -> str:
    if value is None:
        return ""
    text = float.__repr__(value) if isinstance(value, float) else _encodable(str(value))
    return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in ',"\r\n') else text


def _encodable(text: str) -> str:
    """The text with what UTF-8 cannot hold written as escapes: names in archives are any bytes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


# -------------------------------------------------------------------------------------------------- HTML


def diagnosis_html(totals: Mapping[str, int], errors: int, findings: Sequence[tuple[str, ...]]) -> str:
    """The findings of a file: totals by code, and a row of level, code, place, message and advice for each.

    At most MOST_ROWS are shown; how many more there are is said.
    """
    if not totals:
        return _block(_paragraph("No findings: the file is fine."))
    told = ", ".join(levels(totals, errors, ((code, level) for level, code, *_ in findings)))
    verdict = "The file is refused" if errors else "The file is accepted"
    shown = findings[:MOST_ROWS]
    return _block(
        _paragraph(f"{verdict}: {told}."),
        _table(("code", "found"), sorted(totals.items()), "Totals"),
        _table(("level", "code", "place", "what is wrong", "what to do"), shown, "Findings"),
        _more(sum(totals.values()) - len(shown), "finding"),
    )


def result_html(result: Mapping[str, Any], *diagnoses: tuple[str, str]) -> str:
    """A score with its parts, of the data that `score --json` prints.

    `diagnoses` are headings and the HTML of what was found.
    """
    points = "" if result["points"] is None else f" ({result['points']:.2f} points)"
    counts = ", ".join(counted(result["counts"][name], word) for name, word in _COUNTS)
    numbers = [(name, _score(value)) for name, value in result.get("metrics", {}).items()]
    parts = [_table(("metric", "score"), numbers, "Metrics")] if numbers else []
    for part in ("class", "threshold", "area", "image"):
        scores = result.get(f"by_{part}", {})
        rows = [(key, _score(value)) for key, value in itertools.islice(scores.items(), MOST_ROWS)]
        if rows:
            parts += [
                _table((part, "score"), rows, f"By {part}"),
                _more(len(scores) - len(rows), "row", f"to_csv({part!r}) has all"),
            ]
    found = [_paragraph(_Markup(f"<b>{_text(heading)}</b>")) + text for heading, text in diagnoses]
    heading = f"<b>{_text(result['task'])}: {_score(result['score'])}</b>{_text(points)}"
    return _block(_paragraph(_Markup(heading)), _paragraph(counts), *parts, *found)


def task_html(task: Mapping[str, Any]) -> str:
    """The settings of a task, what each may be, and the page's words, of the data that `show --json` prints."""
    rows = [
        (name, _setting(value), task["choices"][name], _quoted(task["words"].get(name)))
        for name, value in task["settings"].items()
    ]
    rows += [
        (name, "", "", _quoted(words))
        for name, words in task["words"].items()
        if name not in task["settings"]
    ]
    classes = itertools.islice(task["classes"].items(), MOST_ROWS)
    return _block(
        _paragraph(_Markup(f"<b>{_text(task['task'])}: {_text(task['title'])}</b>")),
        _paragraph("Columns of a submission: " + ", ".join(task["columns"])),
        _table(("setting", "value", "may be", "the page's words"), rows, "Settings"),
        _table(("class", "name"), list(classes), "Classes") if task["classes"] else "",
        _more(len(task["classes"]) - MOST_ROWS, "class", plural="classes"),
    )


def masks_html(
    counts: str,
    masks: Sequence[tuple[int, tuple[int, int], int, Sequence[int], NDArray[np.bool_] | None]],
    more: int,
) -> str:
    """The counts of a set of masks, and a row with a thumbnail for each of the first ones.

    A mask is its place, (height, width) with -1 where unknown, pixels, box and picture; a picture that is
    None is not drawn, and `more` is the number of masks that are not among them.
    """
    rows = []
    for place, (height, width), area, box, picture in masks:
        size = "unknown" if height < 0 else f"{height} × {width}"
        drawn = "not drawn" if picture is None else _image(picture, f"Mask {place}: {area} pixels in {size}")
        rows.append((place, size, area, "" if height < 0 else ", ".join(map(str, box)), drawn))
    header = ("mask", "height × width", "pixels", "x, y, width, height of the box", "picture")
    return _block(_paragraph(counts), _table(header, rows, "Masks") if rows else "", _more(more, "mask"))


_COUNTS = (
    ("images", "image"),
    ("truths", "truth"),
    ("ignored", "ignored region"),
    ("predictions", "prediction"),
)


def _text(value: object) -> str:
    """A value as HTML: escaped, with signs that no page can show replaced."""
    if isinstance(value, _Markup):
        return value
    text = _encodable(str(value))
    return html.escape(
        "".join(sign if sign >= " " or sign in "\t\n" else "\N{REPLACEMENT CHARACTER}" for sign in text)
    )


def _block(*parts: str) -> str:
    return "<div>" + "".join(parts) + "</div>"


def _paragraph(value: str) -> str:
    return f'<p style="margin:.4em 0">{_text(value)}</p>'


def _more(number: int, word: str, hint: str = "", *, plural: str = "") -> str:
    if number <= 0:
        return ""
    words = word if number == 1 else plural or f"{word}s"
    return _paragraph(f"{number} more {words} not shown{f': {hint}' if hint else ''}.")


def _table(header: Sequence[str], rows: Iterable[Sequence[object]], caption: str) -> str:
    heads = "".join(f'<th scope="col" style="{_CELL}">{_text(name)}</th>' for name in header)
    lines = ("".join(f'<td style="{_CELL}">{_text(cell)}</td>' for cell in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return (
        f'<table style="{_TABLE}"><caption style="{_CAPTION}">{_text(caption)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
    )


def _score(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.6f}"


def _setting(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _quoted(words: str | None) -> str:
    return "the page is silent" if words is None else _Markup(f"<q>{_text(words)}</q>")


# ---------------------------------------------------------------------------------------------- pictures


def thumbnail(picture: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """The picture (H, W) with its longer side at most SIDE: 255 where any pixel of a square is set, else 0."""
    import numpy as np  # noqa: PLC0415 - a table is shown without numpy's weight

    step = -(-max(picture.shape) // SIDE)
    rows = np.logical_or.reduceat(picture, np.arange(0, picture.shape[0], step), axis=0)
    return np.logical_or.reduceat(rows, np.arange(0, picture.shape[1], step), axis=1).astype(np.uint8) * 255


def _image(picture: NDArray[np.bool_], words: str) -> str:
    """A thumbnail as an element; a small one is enlarged by a whole number."""
    pixels = thumbnail(picture)
    height, width = pixels.shape
    scale = SIDE // max(height, width)
    data = base64.b64encode(_png(width, [row.tobytes() for row in pixels])).decode("ascii")
    return _Markup(
        f'<img src="data:image/png;base64,{data}" width="{width * scale}" height="{height * scale}" '
        f'alt="{_text(words)}" style="{_PICTURE}">'
    )


def _png(width: int, rows: Sequence[bytes]) -> bytes:
    """A PNG of grey values, a byte each (PNG, third edition: 11.2.1 and 11.2.3)."""
    head = struct.pack(">IIBBBBB", width, len(rows), 8, 0, 0, 0, 0)
    body = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in ((b"IHDR", head), (b"IDAT", body), (b"IEND", b""))
    )
