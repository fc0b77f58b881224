"""The fields of a COCO file's entries: each has one type, and what has another is at fault."""

from __future__ import annotations

import json
import math
from array import array
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from segjudge.errors import MaskError
from segjudge.findings import Where
from segjudge.kernels import FARTHEST, Kind
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from segjudge.findings import Collector, Level
    from segjudge.masks import Masks

__all__ = [
    "MOST_CLASSES",
    "Fault",
    "Written",
    "box_area",
    "check_class_name",
    "class_id",
    "class_name",
    "confidence",
    "drawing",
    "far_fault",
    "flag",
    "integer",
    "number",
    "shown",
    "side",
    "stem",
    "tell",
    "tell_each",
    "text_id",
    "written",
]

#: Class ids are whole numbers below this: two of them, and a place, fit 64 bits.
MOST_CLASSES = 1 << 31

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

    def plain(self) -> Fault:
        """The same, to be kept: without the frames in which it arose, which would live as long."""
        return Fault(self.code, self.field, self.reason, self.advice, level=self.level)


def tell(
    findings: Collector, label: str, place: str, entry: int, fault: Fault, image: str | None = None
) -> None:
    """Add a fault to the findings; `place` is the name of the entry's list, empty where the file is one."""
    if not findings.wants(fault.code):
        findings.count(fault.code, level=fault.level)
        return
    owner = f"{place}[{entry}]" if place else f"result {entry}"
    column = ".".join(part for part in (place, fault.field) if part)
    subject = f"`{fault.field}` of {owner}" if fault.field else owner[0].upper() + owner[1:]
    findings.add(
        fault.code,
        Where(file=label, entry=entry, column=column or None, image=image),
        f"{subject} {fault.reason}",
        fault.advice,
        level=fault.level,
    )


def tell_each(
    findings: Collector,
    label: str,
    place: str,
    entries: NDArray[np.int64],
    fault: Callable[[int], Fault],
    image: Callable[[int], str | None] = lambda _: None,
) -> None:
    """Add a fault for each of these entries, all of one code; those that are not kept are counted."""
    for at, entry in enumerate(entries.tolist()):
        found = fault(at)
        if not findings.wants(found.code):
            findings.count(found.code, len(entries) - at, level=found.level)
            return
        tell(findings, label, place, entry, found, image(at))


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


def class_id(item: Any, field: str) -> int:  # noqa: ANN401
    """A class's number."""
    value = integer(item, field)
    if not 0 <= value < MOST_CLASSES:
        raise Fault("bad-type", field, f"is {shown(value)}; numbers of classes are 0 to {MOST_CLASSES - 1}.")
    return value


def class_name(item: Mapping[str, Any], class_id: int) -> str:
    """A class's name, its number where there is none that can be shown."""
    name = item.get("name")
    return name if isinstance(name, str) and name and _printable(name) else str(class_id)


def number(item: Any, field: str, code: str = "bad-type") -> float:  # noqa: ANN401
    """A finite number."""
    value = given(item, field)
    try:
        found = float(value) if type(value) in _NUMBERS else math.nan
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise Fault(code, field, f"is {shown(value)}, no finite number.")
    return found


def confidence(item: Any, field: str) -> float:  # noqa: ANN401
    """A prediction's confidence."""
    return number(item, field, "bad-confidence")


def flag(item: Any, field: str) -> bool:  # noqa: ANN401
    """Whether a mark is set, as 0, 1, false or true; one that is not there is not."""
    value = item.get(field, 0)
    if not isinstance(value, int) or value not in {0, 1}:
        raise Fault("bad-type", field, f"is {shown(value)}, neither 0 nor 1.")
    return bool(value)


def box_area(item: Any, field: str) -> float:  # noqa: ANN401
    """The area of a box x, y, width, height."""
    value = given(item, field)
    if not isinstance(value, list) or len(value) != 4 or not _NUMBERS.issuperset(map(type, value)):
        raise Fault("bad-type", field, f"is {shown(value)}, not [x, y, width, height].")
    try:
        sides = array("d", value)
    except OverflowError:
        sides = array("d", [math.inf])
    if not all(map(math.isfinite, sides)):
        raise Fault("bad-type", field, f"is {shown(value)}, with a side that is no finite number.")
    return sides[2] * sides[3]


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


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """A mask as plain JSON, not looked into yet: what kind it is, its size, and where its counts lie."""

    kind: Kind
    size: tuple[int, int]
    text: bytes
    counts_begin: int
    counts_end: int


def written(item: Any, field: str) -> Written:  # noqa: ANN401
    """A mask that is of the right form, whatever it holds."""
    value = given(item, field)
    if isinstance(value, list):
        text = json.dumps(value).encode()
        return Written(Kind.RINGS, (0, 0), text, 0, len(text))
    if not isinstance(value, dict):
        raise Fault("bad-type", field, f"is {shown(value)}, neither rings nor run lengths.", _RINGS)
    height, width = _size(value, field)
    counts = value["counts"]
    head = f'{{"size": [{height}, {width}], "counts": '.encode()
    body = json.dumps(counts).encode()
    text = head + body + b"}"
    if isinstance(counts, str):
        return Written(Kind.TEXT, (height, width), text, len(head) + 1, len(head) + len(body) - 1)
    return Written(Kind.LIST, (height, width), text, len(head), len(head) + len(body))


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


def far_fault(coordinate: float) -> Fault:
    """What is said of a coordinate that is no place."""
    if not math.isfinite(coordinate):
        return Fault("bad-type", "segmentation", f"holds {coordinate}, which is no number.")
    reason = f"holds the coordinate {coordinate:g}; {FARTHEST} pixels from the image is the farthest."
    return Fault("rle-out-of-bounds", "segmentation", reason, "Coordinates are pixels, x before y.")


def _size(value: dict[str, Any], field: str) -> tuple[int, int]:
    """The size of run lengths, whose counts are a list or a text."""
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
    return size[0], size[1]


def _mask(value: dict[str, Any], field: str) -> Masks:
    from segjudge.codecs import CocoRle, counts_from_text  # noqa: PLC0415 - the kernel reads most masks

    height, width = _size(value, field)
    counts = value["counts"]
    try:
        numbers = counts_from_text(counts) if isinstance(counts, str) else counts
    except MaskError as error:
        raise Fault(
            "rle-not-integer", field, f"has counts that cannot be read: {error.message}", _RUNS
        ) from error
    _check_counts(numbers, height * width, field)
    return CocoRle().decode({"size": [height, width], "counts": numbers})


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
