"""One entry of a list while the careful reader takes its fields; each fault is told as it is found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from segjudge.formats.coco import fields
from segjudge.formats.coco.fields import Fault
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from segjudge.findings import Collector

__all__ = ["Item"]


@dataclass(slots=True, eq=False)
class Item:
    """An entry; it is good until a fault is found."""

    findings: Collector
    label: str
    place: str  # the list's name
    entry: int
    value: Any
    image: str | None = None
    good: bool = True

    def __post_init__(self) -> None:
        """An entry is an object, or nothing of it can be taken."""
        if not isinstance(self.value, dict):
            self.fault(Fault("bad-type", "", f"is {fields.shown(self.value)}, not an object."))

    def __contains__(self, name: str) -> bool:
        return isinstance(self.value, dict) and name in self.value

    def taken(self, take: Callable[[Any, str], Any], name: str) -> Any:  # noqa: ANN401 - of any field
        """A field's value, None where it is at fault."""
        if not isinstance(self.value, dict):
            return None
        try:
            return take(self.value, name)
        except Fault as fault:
            self.fault(fault)
            return None

    def fault(self, fault: Fault) -> None:
        """The entry cannot be used."""
        self.good = False
        fields.tell(self.findings, self.label, self.place, self.entry, fault, self.image)
