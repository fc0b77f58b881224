"""The fields of a COCO file's entries: each has one type, and what has another is at fault."""

from __future__ import annotations

from array import array
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from segjudge.codecs import CocoRle, counts_from_text
from segjudge.errors import MaskError
from segjudge.polygons import FARTHEST

if TYPE_CHECKING:
    from collections.abc import Mapping

    from segjudge.findings import Level
    from segjudge.masks import Masks

__all__ = ["Fault", "check_class_name", "drawing", "integer", "side", "stem", "text_id"]

_SHOWN = 40
_NUMBERS = frozenset({int, float})
_RINGS = "A polygon is [[x, y, x, y, x, y, …]]: a list of rings, each of three corners at least."
_RUNS = 'Run lengths are {"size": [height, width], "counts": …}, background first, columns first.'


class Fault(Exception):  # noqa: N818 - it ends the reading of one entry, and becomes a finding
    """A field of one entry is at fault; the reason goes on after the field's name."""

    def __init__(
        self, code: str, field: str, reason: str, advice: str = "", *, level: Level = "error"
    ) -> None:
        super().__init__(reason)
        self.code = code
        self.field = field
        self.reason = reason
        self.advice = advice
        self.level = level


def given(item: Any, field: str) -> Any:  # noqa: ANN401 - JSON holds anything
    """The field's value."""
    if not isinstance(item, dict):
        raise Fault("bad-type", "", f"is {shown(item)}, not an object.")
    if field not in item:
        raise Fault("missing-field", field, "is missing.")
    return item[field]


def integer(item: Any, field: str) -> int:  # noqa: ANN401
    """A whole number."""
    value = given(item, field)
    if type(value) is not int:
        raise Fault("bad-type", field, f"is {shown(value)}, not a whole number.")
    return value


def text_id(item: Any, field: str) -> str:  # noqa: ANN401
    """An id: a whole number or a text; as text, always."""
    value = given(item, field)
    if type(value) is int:
        return str(value)
    if not isinstance(value, str) or not value or not _printable(value):
        raise Fault("bad-type", field, f"is {shown(value)}, neither a whole number nor a text.")
    return value


def stem(item: Any, field: str) -> str:  # noqa: ANN401
    """A file's name less folders and ending."""
    value = given(item, field)
    name = PurePosixPath(value.replace("\\", "/")).stem if isinstance(value, str) else ""
    if not name or not _printable(name):
        raise Fault("bad-type", field, f"is {shown(value)}, not the name of a file.")
    return name


def side(item: Any, field: str) -> int:  # noqa: ANN401
    """A height or width."""
    value = integer(item, field)
    if not 0 < value <= FARTHEST:
        raise Fault("shape-mismatch", field, f"is {shown(value)}, no size in pixels.")
    return value


def check_class_name(item: Mapping[str, Any], class_id: int, classes: Mapping[int, str]) -> None:
    """Nothing, or a warning that a category bears the name of a class of another number."""
    name = item.get("name")
    numbers = {_folded(known): number for number, known in classes.items()}
    number = numbers.get(_folded(name)) if isinstance(name, str) else None
    if number is None or number == class_id:
        return
    own = f"class {class_id} is {classes[class_id]!r}" if class_id in classes else f"no class is {class_id}"
    raise Fault(
        "unknown-class",
        "id",
        f"is {class_id} and its name {name!r}; in this task {name!r} is {number}, and {own}.",
        "Categories are matched by their number: are they counted from 1 where the task counts from 0?",
        level="warning",
    )


def drawing(item: Any, field: str) -> list[array[float]] | Masks:  # noqa: ANN401
    """The rings of a polygon, or the mask that run lengths say."""
    value = given(item, field)
    if isinstance(value, list):
        return _rings(value, field)
    if isinstance(value, dict):
        return _mask(value, field)
    raise Fault("bad-type", field, f"is {shown(value)}, neither rings nor run lengths.", _RINGS)


def _rings(value: list[Any], field: str) -> list[array[float]]:
    if not value:
        raise Fault("missing-field", field, "is empty.", _RINGS)
    rings = []
    for ring in value:
        if not isinstance(ring, list):
            raise Fault("bad-type", field, f"holds {shown(ring)}, not a ring.", _RINGS)
        if not _NUMBERS.issuperset(map(type, ring)):
            odd = next(number for number in ring if type(number) not in _NUMBERS)
            raise Fault("bad-type", field, f"holds {shown(odd)}, not a coordinate.", _RINGS)
        if len(ring) < 6 or len(ring) % 2:
            raise Fault("bad-type", field, f"holds a ring of {len(ring)} numbers.", _RINGS)
        try:
            rings.append(array("d", ring))
        except OverflowError:
            reason = "holds a coordinate of more digits than any picture needs."
            raise Fault("rle-out-of-bounds", field, reason) from None
    return rings


def _mask(value: dict[str, Any], field: str) -> Masks:
    for key in ("size", "counts"):
        if key not in value:
            raise Fault("missing-field", field, f"has no `{key}`.", _RUNS)
    size, counts = value["size"], value["counts"]
    if (
        not isinstance(size, list)
        or len(size) != 2
        or not all(type(length) is int and 0 <= length <= FARTHEST for length in size)
    ):
        raise Fault("bad-type", field, f"has the size {shown(size)}, not [height, width].", _RUNS)
    if not isinstance(counts, (list, str)):
        raise Fault("bad-type", field, f"has as counts {shown(counts)}, neither list nor text.", _RUNS)
    try:
        numbers = counts_from_text(counts) if isinstance(counts, str) else counts
    except MaskError as error:
        raise Fault(
            "rle-not-integer", field, f"has counts that cannot be read: {error.message}", _RUNS
        ) from error
    _check_counts(numbers, size[0] * size[1], field)
    return CocoRle().decode({"size": size, "counts": numbers})


def _check_counts(counts: list[Any], pixels: int, field: str) -> None:
    if not {int}.issuperset(map(type, counts)):
        odd = next(number for number in counts if type(number) is not int)
        raise Fault("rle-not-integer", field, f"has the count {shown(odd)}, not a whole number.", _RUNS)
    if min(counts, default=0) < 0:
        raise Fault("rle-bad-length", field, f"has the count {shown(min(counts))}, below 0.", _RUNS)
    if sum(counts) != pixels:
        raise Fault(
            "rle-wrong-total",
            field,
            f"has counts that add up to {shown(sum(counts))}, and its size has {pixels} pixels.",
            _RUNS,
        )


def shown(value: Any) -> str:  # noqa: ANN401
    """A value in a message, cut where it is long; `true` and `null` as JSON writes them."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and abs(value) >= 10**_SHOWN:
        return "a number of many digits"
    text = ascii(value) if isinstance(value, str) and not _printable(value) else repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _printable(text: str) -> bool:
    """Whether a text can be written at all: half of a surrogate pair cannot."""
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


def _folded(name: str) -> str:
    return name.casefold().replace("_", " ").replace("-", " ").strip()
