"""Tables cut in small pieces by several workers: the records must be those of the table read at once."""

import zlib
from unittest import mock

from segjudge.crew import Crew
from segjudge.findings import Collector
from segjudge.formats.opening import HeldBytes
from segjudge.formats.table import text as tables

#: Bytes of a piece, read beyond it at once, and of room behind that.
ROOMS = [(1, 1, 0), (7, 3, 1), (16, 1, 40), (60, 9, 0), (100, 64, 500), (1000, 1, 1)]
LONGEST = [1 << 28, 1 << 28, 50]
QUOTED = ([], ("quoted",))


def table_pieces(data: bytes):
    """A table in pieces of many sizes, whose buffers go round, and as one."""
    number = zlib.crc32(data)
    block, margin, room = ROOMS[number % len(ROOMS)]
    longest, workers = LONGEST[number // 6 % len(LONGEST)], 1 + number // 18 % 2
    whole = _read(data, 1)
    with (
        mock.patch.multiple(tables, _BLOCK=block, _MARGIN=margin, _ROOM_FOR_TAIL=margin + 1 + room),
        mock.patch.object(tables, "_LONGEST_LINE", longest),
    ):
        cut = _read(data, workers)
    if longest > len(data):
        if cut != whole:
            raise AssertionError(f"{cut} in pieces, {whole} at once")
    elif whole != QUOTED and cut[0] != whole[0][: len(cut[0])]:
        raise AssertionError(f"{cut[0]} is not the beginning of {whole[0]}")
    return cut[1], min(len(cut[0]), 3), workers


def _read(data: bytes, workers: int):
    """The records with their lines, and what else there is to say."""
    findings, records = Collector(cap=None), []
    try:
        table = tables.open_text(HeldBytes(data), "t.csv", findings)
        if table is not None:
            with Crew(workers) as crew:
                for block in table.blocks(findings, crew):
                    bounds = zip(block.begins(0).tolist(), block.ends[:, -1].tolist(), strict=True)
                    for place, (begin, end) in enumerate(bounds):
                        found = int(block.found[place])
                        records.append((block.row + place, found, block.text[begin:end].tobytes()))
    except tables.QuotedText:  # which piece has the sign is nobody's business
        return QUOTED
    return records, tuple(sorted(findings.diagnosis().totals))
