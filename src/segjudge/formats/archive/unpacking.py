"""Decompression in steps of bounded size, so that every step is counted before it takes more memory.

`zipfile` sets no bound to what one call gives out: a few hundred kilobytes of bzip2 become gigabytes.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["STEP", "Decoder", "Deflate", "lzma_decoder", "stream_decoder", "unpack"]

#: Bytes that are read or unpacked at once.
STEP = 1 << 20

_LZMA_MEMORY = 256 << 20  # bytes a dictionary may take; xz -9 needs 65 MiB


class Decoder(Protocol):
    """What bz2's and lzma's decompressors have in common."""

    @property
    def eof(self) -> bool:
        """True once the stream has ended."""

    @property
    def needs_input(self) -> bool:
        """False while more can be given out without more bytes."""

    @property
    def unused_data(self) -> bytes:
        """What follows the end of the stream."""

    def decompress(self, data: bytes, max_length: int = ...) -> bytes:
        """At most `max_length` unpacked bytes."""


class Deflate:
    """zlib's decompressor, spoken to like the others."""

    def __init__(self, window: int) -> None:
        self._decoder = zlib.decompressobj(window)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        """True once the stream has ended."""
        return self._decoder.eof

    @property
    def unused_data(self) -> bytes:
        """What follows the end of the stream."""
        return self._decoder.unused_data

    def decompress(self, data: bytes, max_length: int = STEP) -> bytes:
        """At most `max_length` unpacked bytes."""
        found = self._decoder.decompress(self._decoder.unconsumed_tail + data, max_length)
        self.needs_input = not self._decoder.unconsumed_tail and len(found) < max_length
        return found


def lzma_decoder(form: int) -> Decoder:
    """A decompressor of xz or LZMA whose dictionary is bounded."""
    return lzma.LZMADecompressor(form, memlimit=_LZMA_MEMORY)


def unpack(packed: Iterable[bytes], fresh: Callable[[], Decoder], *, joined: bool) -> Iterator[bytes]:
    """The unpacked bytes, at most a step at once; `joined` streams may follow one another."""
    decoder = fresh()
    begun = False
    for piece in packed:
        data = piece
        while data or not (decoder.eof or decoder.needs_input):
            if decoder.eof:
                data = data.lstrip(b"\0")  # padding after a stream
                if not (joined and data):
                    break
                decoder = fresh()
            found = decoder.decompress(data, STEP)
            begun = True
            data = decoder.unused_data if decoder.eof else b""
            if found:
                yield found
    if not (begun and decoder.eof):
        raise EOFError("its packed bytes end too early")


_STREAMS: tuple[tuple[bytes, Callable[[], Decoder]], ...] = (
    (b"\x1f\x8b", lambda: Deflate(31)),
    (b"BZh", bz2.BZ2Decompressor),
    (b"\xfd7zXZ\0", lambda: lzma_decoder(lzma.FORMAT_XZ)),
)


def stream_decoder(start: bytes) -> Callable[[], Decoder] | None:
    """What unpacks a gzip, bzip2 or xz stream that begins with `start`; None where it is none of them."""
    return next((fresh for magic, fresh in _STREAMS if start.startswith(magic)), None)
