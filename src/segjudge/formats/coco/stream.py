"""The lists of a JSON file, one entry at a time: a file of any size takes the memory of one entry.

A scan may take plain entries many at once, from the file's own bytes; every other entry is made a Python
object and handed to its taker, so that both together see each entry once, in the file's order.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any

from segjudge.kernels import CLOSED, MORE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from segjudge.formats.receipts import Receipt, Running

__all__ = ["JsonFault", "Scan", "Taker", "read_list", "read_lists"]

#: Called with the place of an entry in its list, from 0, and with its value.
Taker = Callable[[int, Any], None]

#: Called with bytes, the place of the next entry in them, the place of the first byte in the file, and the
#: next entry's number: gives how many entries it took, the place behind them, and the kernels' word why.
Scan = Callable[[memoryview, int, int, int], tuple[int, int, int]]

_BLOCK = 1 << 20  # bytes read at a time
_PIECE = 1 << 11  # bytes that are tried as one value first
_LONGEST_TAIL = 16  # signs at a piece's end that may be the head of a longer word or number
_SPACE = b" \t\r\n"
_SHOWN = 30


class JsonFault(Exception):  # noqa: N818 - it becomes a finding
    """The file is not what it should be: a finding's code, a reason and advice."""

    def __init__(self, code: str, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.advice = advice


def read_lists(
    path: Path,
    takers: Mapping[str, Taker],
    scans: Mapping[str, Scan] | None = None,
    receipt: Receipt | None = None,
) -> set[str]:
    """The names of the lists that the file's one object holds, of those that have a taker.

    Each taker is called with every entry of its list that its scan, if there is one, has not taken. The
    receipt is worked out on the way. Raises JsonFault where the file is no such object.
    """
    with path.open("rb", buffering=0) as file:
        text = _Text(file, receipt.running(path) if receipt is not None else None)
        seen = text.lists(takers, scans or {})
        text.finish()
    return seen


def read_list(path: Path, taker: Taker, scan: Scan | None = None, receipt: Receipt | None = None) -> None:
    """Call the taker with every entry of the file's one list that the scan has not taken.

    The receipt is worked out on the way. Raises JsonFault where the file is no list.
    """
    with path.open("rb", buffering=0) as file:
        text = _Text(file, receipt.running(path) if receipt is not None else None)
        text.list(taker, scan)
        text.finish()


class _Text:
    """A window of the bytes, moved on as it is read."""

    def __init__(self, file: IO[bytes], running: Running | None = None) -> None:
        self.file = file
        self.running = running
        self.window = bytearray(_BLOCK)
        self.at = 0
        self.end = 0
        self.gone = 0  # bytes before the window
        self.decoder = json.JSONDecoder()
        self._more()
        if self.window[:3] == codecs.BOM_UTF8:
            self.at = 3

    # ------------------------------------------------------------------------------------- whole files

    def lists(self, takers: Mapping[str, Taker], scans: Mapping[str, Scan]) -> set[str]:
        """See `read_lists`."""
        seen: set[str] = set()
        if self.sign() == b"[":
            raise JsonFault(
                "bad-json",
                "The file is a list, not an object with `images` and `annotations`.",
                "Is this a list of a detector's results? The truth is the annotations file.",
            )
        self.take(b"{")
        if self.sign() == b"}":
            self.take(b"}")
        else:
            self._members(takers, scans, seen)
        self._end("object")
        return seen

    def list(self, taker: Taker, scan: Scan | None) -> None:
        """See `read_list`."""
        if self.sign() == b"{":
            raise JsonFault(
                "bad-json",
                "The file is an object, not a list of results.",
                "Results are [{…}, {…}]. Is this an annotations file? Write its predictions as a list of their own.",
            )
        self._entries(taker, scan)
        self._end("list")

    def _end(self, kind: str) -> None:
        if self.sign():
            raise self.fault(f"the {kind} ends here, and more follows")

    def _members(self, takers: Mapping[str, Taker], scans: Mapping[str, Scan], seen: set[str]) -> None:
        while True:
            name = self.value()
            if not isinstance(name, str):
                raise self.fault("a name in double quotes is missing")
            self.take(b":")
            if name not in takers:
                self.value()
            elif name in seen:
                raise JsonFault("bad-json", f"`{name}` stands twice.", "Join both lists in one.")
            else:
                seen.add(name)
                if self.sign() != b"[":
                    raise JsonFault(
                        "bad-type", f"`{name}` is not a list.", "COCO's files hold lists of objects."
                    )
                self._entries(takers[name], scans.get(name))
            if not self.goes_on(b"}"):
                return

    def _entries(self, taker: Taker, scan: Scan | None) -> None:
        self.take(b"[")
        if self.sign() == b"]":
            self.take(b"]")
            return
        place = 0
        while True:
            if scan is not None:
                taken, closed = self._scanned(scan, place)
                place += taken
                if closed:
                    return
            taker(place, self.value())
            place += 1
            if not self.goes_on(b"]"):
                return

    def _scanned(self, scan: Scan, place: int) -> tuple[int, bool]:
        """How many entries the scan takes from here, and whether the list has ended."""
        first = place
        while True:
            with memoryview(self.window) as window, window[: self.end] as text:
                taken, self.at, state = scan(text, self.at, self.gone, place)
            place += taken
            if state == CLOSED:
                return place - first, True
            if not taken and not (state == MORE and self._more()):
                return place - first, False

    # --------------------------------------------------------------------------------------- one value

    def sign(self) -> bytes:
        """The next sign that is no white space; nothing at the end of the file."""
        while True:
            while self.at < self.end:
                if self.window[self.at] not in _SPACE:
                    return bytes(self.window[self.at : self.at + 1])
                self.at += 1
            if not self._more():
                return b""

    def take(self, wanted: bytes) -> None:
        if self.sign() != wanted:
            raise self.fault(f"`{wanted.decode()}` is missing")
        self.at += 1

    def goes_on(self, close: bytes) -> bool:
        """Whether a comma follows, and not the close."""
        sign = self.sign()
        if sign not in {b",", close}:
            raise self.fault(f"`,` or `{close.decode()}` is missing")
        self.at += 1
        return sign == b","

    def value(self) -> Any:  # noqa: ANN401 - JSON holds anything
        """The value that starts at the next sign."""
        self.sign()
        length = _PIECE
        while True:
            last = self.at + length >= self.end
            text, broken = self._decoded(length)
            try:
                value, end = self.decoder.raw_decode(text)
            except RecursionError as error:
                raise self.fault("lists or objects are nested too deep") from error
            except ValueError as error:
                if _may_go_on(error, text):
                    if broken:
                        raise _not_utf8(broken) from error
                    if not last or self._more():
                        length *= 4
                        continue
                reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
                self.at += _bytes(text, error.pos) if isinstance(error, json.JSONDecodeError) else 0
                raise self.fault(reason) from error
            if not broken and len(text) - end < _LONGEST_TAIL and (not last or self._more()):
                length *= 4
                continue
            self.at += _bytes(text, end)
            return value

    def _decoded(self, length: int) -> tuple[str, str]:
        """So many bytes from here as text, fewer at the window's end, and why it ends if it is no UTF-8.

        A sign that is cut by the end is left out.
        """
        piece = bytes(self.window[self.at : min(self.at + length, self.end)])
        try:
            return codecs.utf_8_decode(piece, "strict", False)[0], ""  # noqa: FBT003 - it takes no keywords
        except UnicodeDecodeError as error:
            return piece[: error.start].decode(), error.reason

    def _more(self) -> bool:
        """Move the window on; it grows by half of itself at least, so that a long value costs no more."""
        rest = self.end - self.at
        kept = self.window[self.at : self.end]
        if len(self.window) - rest < max(_BLOCK, rest) // 2 + 1:
            self.window = bytearray(rest + max(_BLOCK, rest // 2) + 1)
        self.window[:rest] = kept
        self.gone += self.at
        self.at, self.end = 0, rest
        with memoryview(self.window) as window, window[rest:] as free:
            count = self.file.readinto(free)  # type: ignore[attr-defined]
            if self.running is not None and count:
                self.running.add(free[:count])
        self.end += count or 0
        return bool(count)

    def finish(self) -> None:
        """Settle the receipt once the file's end was seen."""
        if self.running is not None:
            self.running.finish(self.gone + self.end)

    def fault(self, reason: str) -> JsonFault:
        """What is wrong at this place, with the text that follows it."""
        place = self.gone + self.at
        if not self.sign():
            return JsonFault(
                "bad-json", f"The JSON ends too early: {reason}.", "Was the file cut, or the disk full?"
            )
        while self.end - self.at < _SHOWN and self._more():
            pass
        near, broken = self._decoded(_SHOWN)
        if broken and not near:
            return _not_utf8(broken)
        return JsonFault(
            "bad-json",
            f"At byte {place} the file is no JSON: {reason}, before {near!r}.",
            "Write the file with json.dump, once.",
        )


def _not_utf8(reason: str) -> JsonFault:
    return JsonFault("not-utf8", f"The file is not UTF-8: {reason}.", "Write it with encoding='utf-8'.")


def _may_go_on(error: ValueError, text: str) -> bool:
    """Whether the value may only have been cut by the end of the text."""
    if not isinstance(error, json.JSONDecodeError):
        return False
    return error.msg.startswith("Unterminated string") or error.pos > len(text) - _LONGEST_TAIL


def _bytes(text: str, signs: int) -> int:
    """How many bytes so many signs of the text take."""
    return signs if text.isascii() else len(text[:signs].encode())
