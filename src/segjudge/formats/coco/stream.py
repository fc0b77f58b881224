"""The lists of a JSON file, one entry at a time: a file of any size takes the memory of one entry."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

__all__ = ["JsonFault", "read_lists"]

_BLOCK = 1 << 22  # characters read at a time
_LONGEST_TAIL = 4  # signs at a block's end that may be the head of a longer number, such as `1.5e-`
_SPACE = " \t\r\n"
_SHOWN = 30


class JsonFault(Exception):  # noqa: N818 - it becomes a finding
    """The file is not what it should be: a finding's code, a reason and advice."""

    def __init__(self, code: str, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.advice = advice


def read_lists(path: Path, takers: Mapping[str, Callable[[int, Any], None]]) -> set[str]:
    """The names of the lists that the file's one object holds, of those that have a taker.

    Each taker is called with every entry of its list and the entry's place, from 0. Raises JsonFault
    where the file is no such object.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _Text(file).lists(takers)
    except UnicodeDecodeError as error:
        raise JsonFault(
            "not-utf8", f"The file is not UTF-8: {error.reason}.", "Write it with encoding='utf-8'."
        ) from error


class _Text:
    """A window of the text, moved on as it is read."""

    def __init__(self, file: IO[str]) -> None:
        self.file = file
        self.text = ""
        self.at = 0
        self.gone = 0  # characters before the window
        self.decoder = json.JSONDecoder()

    def lists(self, takers: Mapping[str, Callable[[int, Any], None]]) -> set[str]:
        seen: set[str] = set()
        if self.sign() == "[":
            raise JsonFault(
                "bad-json",
                "The file is a list, not an object with `images` and `annotations`.",
                "Is this a list of a detector's results? The truth is the annotations file.",
            )
        self.take("{")
        if self.sign() == "}":
            self.take("}")
        else:
            self._members(takers, seen)
        if self.sign():
            raise self.fault("the object ends here, and more follows")
        return seen

    def _members(self, takers: Mapping[str, Callable[[int, Any], None]], seen: set[str]) -> None:
        while True:
            name = self.value()
            if not isinstance(name, str):
                raise self.fault("a name in double quotes is missing")
            self.take(":")
            if name not in takers:
                self.value()
            elif name in seen:
                raise JsonFault("bad-json", f"`{name}` stands twice.", "Join both lists in one.")
            else:
                seen.add(name)
                self._entries(name, takers[name])
            if not self.goes_on("}"):
                return

    def _entries(self, name: str, taker: Callable[[int, Any], None]) -> None:
        if self.sign() != "[":
            raise JsonFault("bad-type", f"`{name}` is not a list.", "COCO's files hold lists of objects.")
        self.take("[")
        if self.sign() == "]":
            self.take("]")
            return
        place = 0
        while True:
            taker(place, self.value())
            place += 1
            if not self.goes_on("]"):
                return

    def sign(self) -> str:
        """The next sign that is no white space; nothing at the end of the file."""
        while True:
            while self.at < len(self.text):
                if self.text[self.at] not in _SPACE:
                    return self.text[self.at]
                self.at += 1
            if not self._more():
                return ""

    def take(self, wanted: str) -> None:
        if self.sign() != wanted:
            raise self.fault(f"`{wanted}` is missing")
        self.at += 1

    def goes_on(self, close: str) -> bool:
        """Whether a comma follows, and not the close."""
        sign = self.sign()
        if sign not in {",", close}:
            raise self.fault(f"`,` or `{close}` is missing")
        self.at += 1
        return sign == ","

    def value(self) -> Any:  # noqa: ANN401 - JSON holds anything
        """The value that starts at the next sign."""
        self.sign()
        while True:
            try:
                value, end = self.decoder.raw_decode(self.text, self.at)
            except RecursionError as error:
                raise self.fault("lists or objects are nested too deep") from error
            except ValueError as error:
                if self._more():
                    continue
                reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
                self.at = error.pos if isinstance(error, json.JSONDecodeError) else self.at
                raise self.fault(reason) from error
            if len(self.text) - end < _LONGEST_TAIL and self._more():
                continue
            self.at = end
            return value

    def _more(self) -> bool:
        """Move the window on; it grows by half of itself at least, so that a long value costs no more."""
        rest = self.text[self.at :]
        block = self.file.read(max(_BLOCK, len(rest)))
        if not block:
            return False
        self.gone += self.at
        self.text, self.at = rest + block, 0
        return True

    def fault(self, reason: str) -> JsonFault:
        place = self.gone + self.at
        if not self.sign():
            return JsonFault(
                "bad-json", f"The JSON ends too early: {reason}.", "Was the file cut, or the disk full?"
            )
        near = self.text[self.at : self.at + _SHOWN]
        return JsonFault(
            "bad-json",
            f"At character {place} the file is no JSON: {reason}, before {near!r}.",
            "Write the file with json.dump, once.",
        )
