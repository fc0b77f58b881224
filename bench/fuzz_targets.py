"""What `fuzz.py` throws damaged input at: a function of bytes for each reader, and valid input to begin with.

A target gives what came of the input, in few words: inputs that give new ones are kept and grown further.
It raises where something is wrong. Texts lie in arrays of just their size, so that the sanitizers see a
kernel that looks behind the end.
"""

import json
import math
import tempfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import numpy as np
from fuzz_detection import detection_kernels, matching_kernels
from fuzz_pieces import table_pieces

import segjudge as sj
from segjudge import kernels
from segjudge.codecs import CocoRle, Rle, counts_from_text
from segjudge.findings import Collector
from segjudge.formats.coco import fields as coco_fields
from segjudge.formats.coco import rows as coco_rows
from segjudge.formats.coco import stream as coco_stream
from segjudge.kernels import Column, Field, Kind, _json_plain, _plain
from segjudge.kernels._words import FULL
from segjudge.polygons import polygon_masks


def exact(data: bytes):
    """The bytes in memory of their own, with nothing behind them."""
    return np.frombuffer(data, np.uint8).copy()


def twins(name: str, *arguments):
    """The results of a kernel, after its twin has agreed."""
    results = [getattr(twin, name)(*arguments) for twin in (kernels, _plain)]
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)
    return results[0]


def outcome_of(call):
    """What came of a call: a value, or one of segjudge's own exceptions."""
    try:
        return call()
    except sj.SegjudgeError as error:
        return error


def run_text(data: bytes):
    """A cell of runs in every dialect: kernel against twin, `decode` against `explain`."""
    text = exact(data)
    # Two cells, so that one begins in the middle of the text, and a size that some runs leave.
    half = len(data) // 2
    begins, ends = np.array([0, half]), np.array([half, len(data)])
    seen = []
    for order, origin, between, after in (("row", 0, " ", "|"), ("column", 1, " ", ""), ("row", 1, ":", " ")):
        rle = Rle(order, origin, between, after)
        for pixels, line in ((-1, 0), (9_000_000, 3000), (12, 1)):
            parsed = []
            for twin in (kernels, _plain):
                room = len(data) // 4 + 2
                starts, stops = np.full(room, -7), np.full(room, -7)
                found = twin.parse_runs(
                    text,
                    begins,
                    ends,
                    np.full(2, pixels),
                    np.full(2, line),
                    origin,
                    *rle.marks,
                    starts,
                    stops,
                )
                runs = found[0][-1]
                parsed.append((*found, starts[:runs], stops[:runs]))
            for one, other in zip(*parsed, strict=True):
                np.testing.assert_array_equal(one, other)
            seen.append(tuple(parsed[0][3]))
        cell = data.decode("utf-8", "replace")
        problems = list(rle.explain(cell, (3000, 3000)))
        masks = outcome_of(lambda rle=rle, cell=cell: rle.decode([cell], (3000, 3000)))
        if isinstance(masks, sj.MaskError):
            if not problems:
                raise AssertionError("refused without a word")
        elif rle.decode([rle.encode_masks(masks)[0]], (3000, 3000)).areas[0] != masks.areas[0]:
            raise AssertionError("encoding does not give the mask back")
        seen.append(tuple(problem.code for problem in problems))
    return tuple(seen)


def coco_text(data: bytes):
    """COCO's compressed counts, of an image that they may or may not fill."""
    seen = []
    for counts in (data, data.decode("latin-1")):
        result = outcome_of(lambda counts=counts: CocoRle().decode({"size": [40, 50], "counts": counts}))
        if not isinstance(result, sj.MaskError):
            again = CocoRle().decode(CocoRle().encode(result.dense()[0]))
            if again.areas[0] != result.areas[0]:
                raise AssertionError("encoding does not give the mask back")
        seen.append(str(result)[:24] if isinstance(result, sj.MaskError) else int(result.areas[0]) > 0)
    return tuple(seen)


def table_kernels(data: bytes):
    """The kernels that cut a table and read its small cells."""
    text = exact(data)
    seen = []
    for fields in (1, 3, 5):
        starts, ends, found, flags = twins("index_records", text, ord(","), ord("\n"), fields)
        first = np.ascontiguousarray(ends[:, 0])
        twins("parse_integers", text, starts, first)
        twins("parse_decimals", text, starts, first)
        kernels.equal_to_previous(text, starts, first)
        seen.append((flags, len(found) > 1, int(found.max(initial=0)) > fields))
    return tuple(seen)


def decimal_cells(data: bytes):
    """Cells of numbers, in a text that ends with the last of them."""
    text, lengths = exact(data), [len(cell) for cell in data.split(b"\n")]
    ends = np.cumsum([length + 1 for length in lengths]) - 1
    begins = ends - lengths
    values, valid = twins("parse_decimals", text, begins, ends)
    _whole, plain = twins("parse_integers", text, begins, ends)
    return min(len(valid), 3), int(valid.sum()) % 4, int(plain.sum()) % 4, bool((values > 1).any())


# ----------------------------------------------------------------------------------------------- COCO's JSON

NAMES = {"id": Column.NUMBER, "image_id": Column.IMAGE, "category_id": Column.CLASS}


def json_entries(data: bytes):
    """The scan of a list's entries: what it takes is what Python's own reader sees there."""
    text, seen = exact(data), []
    for wanted, required in ((0, 0), (2047, 0), (127, 64 + 2 + 4)):
        whole = np.full((3, kernels.INTEGERS), -7, np.int64)
        real = np.full((3, kernels.FLOATS), -7.0)
        at, total, state = 0, 0, FULL
        while state == FULL:
            begin = at
            taken, at, state = kernels.scan_entries(memoryview(text), at, wanted, required, whole, real)
            if taken:
                entries = json.loads(b"[" + data[begin : at - 1] + b"]")
                if len(entries) != taken:
                    raise AssertionError("entries were lost, or made")
                for entry, row, floats in zip(entries, whole, real, strict=False):
                    _same(entry, row, floats, Field(wanted), data)
            total += taken
        seen.append((state, min(total, 4)))
    return tuple(seen)


def _same(entry, row, floats, wanted, data):
    flags = Field(int(row[Column.FLAGS]))
    for name, bit in (("id", Field.ID), ("image_id", Field.IMAGE), ("category_id", Field.CLASS)):
        if bit & wanted and (name in entry) != bool(flags & bit):
            raise AssertionError(f"{name} is there for one alone")
        if bit & flags and entry[name] != row[NAMES[name]]:
            raise AssertionError(f"{name} is another")
    for name, bit, value in (("score", Field.SCORE, floats[0]), ("area", Field.AREA, floats[1])):
        if bit & flags and math.copysign(1, entry[name]) * abs(float(entry[name])) != value:
            raise AssertionError(f"{name} is another")
    if Field.MASK & flags:
        begin, end = row[Column.BEGIN], row[Column.END]
        if json.loads(data[begin:end]) != entry["segmentation"]:
            raise AssertionError("the mask lies elsewhere")
        counts = data[row[Column.COUNTS_BEGIN] : row[Column.COUNTS_END]]
        if row[Column.KIND] != Kind.RINGS:
            counts = b'"' + counts + b'"' if row[Column.KIND] == Kind.TEXT else counts
            if json.loads(counts) != entry["segmentation"]["counts"]:
                raise AssertionError("the counts lie elsewhere")


SHAPES = [(4, 5), (10, 12), (1, 1), (0, 3), (3000, 3000), (1 << 20, 1 << 20), (1 << 20, 1), (200, 1)]


def coco_masks(data: bytes):
    """The bytes of one mask, of every kind: what the kernel reads is what the careful reader reads."""
    shape, seen = SHAPES[zlib.crc32(data) % len(SHAPES)], []
    for kind in Kind:
        if kind != Kind.RINGS:
            seen.append(_mask_outcome(kind, data, _fitting(kind, data) or shape))
        elif max(shape) < 4000:
            seen.append(_mask_outcome(kind, data, shape))
    return tuple(seen)


def _fitting(kind, data: bytes):
    """A size that has as many pixels as the counts say; None where there is none."""
    try:
        signs = data if kind == Kind.SIGNS else data.replace(b"\\\\", b"\\")
        total = sum(counts_from_text(signs) if kind in {Kind.TEXT, Kind.SIGNS} else json.loads(data))
    except (sj.MaskError, ValueError, TypeError, RecursionError):
        return None
    height = next((h for h in (1000, 12, 7, 5, 3, 2) if isinstance(total, int) and total % h == 0), 1)
    return (height, total // height) if isinstance(total, int) and 0 < total // height <= 1 << 20 else None


def polygons(data: bytes):
    """Rings through corners anywhere, near and far, many of them on one another."""
    if len(data) < 3:
        return None
    scale = (0.1, 1, 1 / 64, 16.5, 300)[data[0] % 5]
    shape = ((7, 9), (1, 200), (1 << 20, 5), (300, 300), (5, 1 << 13))[data[1] % 5]
    numbers = np.frombuffer(data[2 : len(data) // 2 * 2], np.float16).astype(np.float64)[:200]
    corners = (scale * numbers[np.isfinite(numbers)]).tolist()
    size = 2 * (3 + data[0] // 5 % 9)
    rings = [corners[at : at + size] for at in range(0, len(corners), size)]
    return _mask_outcome(Kind.RINGS, json.dumps(rings).encode(), shape), shape, min(len(rings), 3)


def _mask_outcome(kind, data: bytes, shape):
    """What the kernel makes of a mask, held against the careful reader."""
    text, ends = exact(data), np.array([len(data)] * 2)
    starts, stops = np.empty(0, np.int64), np.empty(0, np.int64)
    indptr, areas = np.zeros(3, np.int64), np.full(2, -7)
    extents, status, done = np.full((2, 4), -7), np.full(2, 9, np.uint8), 0
    while done < 2:  # twice the same, so that one begins behind another
        done = kernels.read_segments(
            text, np.zeros(2, np.int64), ends, np.full(2, kind, np.int64), np.array([shape] * 2, np.int64), done,
            starts, stops, indptr, areas, extents, status,
        )  # fmt: skip
        if done < 2:
            starts, stops = np.resize(starts, 2 * len(starts) + 1), np.resize(stops, 2 * len(starts) + 1)
    try:
        if kind == Kind.SIGNS:
            body = data.decode("latin-1")
        else:
            body = json.loads(b'"' + data + b'"' if kind == Kind.TEXT else data)
        value = body if kind == Kind.RINGS else {"size": list(shape), "counts": body}
        mask = coco_fields.drawing({"mask": value}, "mask")
        mask = mask if isinstance(mask, sj.Masks) else polygon_masks([mask], [shape])
    except (coco_fields.Fault, sj.MaskError, ValueError, RecursionError):
        if (status != kernels.UNREAD).any():
            raise
        return kind, None
    if (status == kernels.UNREAD).any():
        return kind, "unread", len(mask.starts) > 0
    for place in range(2):
        part = slice(indptr[place], indptr[place + 1])
        np.testing.assert_array_equal(starts[part], mask.starts)
        np.testing.assert_array_equal(stops[part], mask.stops)
    np.testing.assert_array_equal(areas, [mask.areas[0]] * 2)
    np.testing.assert_array_equal(extents, [mask.extents[0]] * 2)
    return kind, min(len(mask.starts), 9), min(int(mask.areas[0]), 50) // 25


def _folder():
    """A folder that goes when the process ends."""
    return tempfile.TemporaryDirectory(prefix="segjudge-fuzz-", ignore_cleanup_errors=True)


@dataclass
class Coco:
    """A file of COCO's, read with the kernels and without, in blocks of many sizes: both see the same."""

    read: str
    name: str
    folder: tempfile.TemporaryDirectory = field(default_factory=_folder)

    def __call__(self, data: bytes):
        path = Path(self.folder.name) / self.name
        path.write_bytes(data)
        block = (8, 60, 1000, 1 << 20)[zlib.crc32(data) % 4]
        with mock.patch.object(coco_stream, "_BLOCK", block), mock.patch.object(coco_rows, "_ROOM", 2):
            fast = self._seen(path)
            with (
                mock.patch.object(kernels, "scan_entries", _json_plain.scan_entries),
                mock.patch.object(kernels, "read_segments", _json_plain.read_segments),
            ):
                careful = self._seen(path)
        if fast != careful:
            raise AssertionError(f"the kernels see {fast}, the careful reader {careful}")
        return fast[0], min(len(fast[1]), 3)

    def _seen(self, path: Path):
        findings = Collector(cap=None)
        opened = getattr(sj, self.read)(sj.load_task("coco"), path, findings=findings)
        findings, source = opened.findings.copy(), opened.source
        if source is None:
            return tuple(sorted(findings.diagnosis().totals)), ()
        source.bind(sj.Images.of(source.image_ids, source.shapes))
        chunk = source.read(np.arange(len(source.image_ids)), None)
        findings.absorb(chunk.findings)
        got, diagnosis = chunk.instances, findings.diagnosis()
        columns = [
            got.image, got.class_ids, got.confidences, got.ignored, got.rows, got.areas, got.crowd, got.masks.starts,
            got.masks.stops, got.masks.indptr, got.masks.areas, got.masks.extents,
        ]  # fmt: skip
        told = tuple(sorted(map(str, diagnosis.findings)))
        seen = [None if column is None else column.tobytes() for column in columns]
        return tuple(sorted(diagnosis.totals)), tuple(source.image_ids), told, tuple(map(str, seen))


@dataclass
class Checked:
    """A file of a task that is checked whole; the outcome is which findings there are."""

    task: str
    name: str
    truth: bool = False
    folder: tempfile.TemporaryDirectory = field(default_factory=_folder)

    def __call__(self, data: bytes):
        task = sj.load_task(self.task)
        path = Path(self.folder.name) / self.name
        path.write_bytes(data)
        if self.truth:
            return _codes(outcome_of(lambda: sj.check_truth(task, sj.read_truth(task, path))))
        return _codes(outcome_of(lambda: sj.check(task, sj.read_submission(task, path))))


def _codes(result):
    return str(type(result)) if isinstance(result, Exception) else tuple(sorted(result.totals))


WAD = b"""ImageId,LabelId,Confidence,PixelCount,EncodedPixels
a,33,0.5,7,0 3|100 4|
b,40,1e-3,12,99999 12|
"""
DSB = b"ImageId,EncodedPixels\na,1 2 9 3\nb,\nc,100 20 200 20 300 20 400 20\n"
BADLAD = b"Id,Predicted,Height,Width\np_0,1 2 9 3,10,12\np_1,,10,12\np_2,100 20,10,12\np_3,,10,12\n"
ANNOTATIONS = b"""{"images": [{"id": 7, "file_name": "p.png", "height": 10, "width": 12}],
 "categories": [{"id": 0, "name": "paragraph"}, {"id": 1, "name": "text_box"}],
 "annotations": [{"id": 1, "image_id": 7, "category_id": 0, "segmentation": [[1, 1, 8.5, 1, 8, 7.25, 1, 7]]},
  {"id": 2, "image_id": 7, "category_id": 1, "segmentation": {"size": [10, 12], "counts": [5, 2, 113]}},
  {"id": 3, "image_id": 7, "category_id": 1, "segmentation": {"size": [10, 12], "counts": "52a3"}}]}"""

RESULTS = b"""[{"image_id": 7, "category_id": 1, "segmentation": {"size": [10, 12], "counts": "52a3"}, "score": 0.5},
 {"image_id":"x","category_id":3,"score":1e-3,"segmentation":{"size":[4,5],"counts":[2,3,15]},"bbox":[0,2,1,3]},
 {"score": 0.12345678901234567, "segmentation": {"counts": "231", "size": [2, 3]}, "image_id": 8, "category_id": 2,
  "more": {"a": [1, {"y": "}]\\""}, null, true]}}]"""
BOXED = b"""[{"image_id":1,"category_id":3,"segmentation":{"size":[4,5],"counts":"23?"},"score":0.5,"bbox":[0,2,1,3]},
{"image_id":2,"category_id":3,"segmentation":{"size":[4,5],"counts":[20]},"score":-0.0,"bbox":[0.5,2,1e2,3]}]"""
TRUTHS = ANNOTATIONS.replace(b'"category_id": 0,', b'"category_id": 0, "area": 9.5, "iscrowd": 0,').replace(
    b'"category_id": 1,', b'"category_id": 1, "ignore": 1, "area": 3, "bbox": [1, 2, 3, 4],'
)
RINGS = b"[[1, 1, 8.5, 1, 8, 7.25, 1, 7], [-3e2, 4, 1048576, 1048576, 0.1, -1048576.5e-1]]"
LIST = TRUTHS[TRUTHS.index(b'"annotations": [') + 16 : -1]

#: Name to what is done with an input, and the valid inputs from which others are grown.
TARGETS = {
    "run-text": (
        run_text,
        [b"0 3|100 4|", b"1 2 9 3", b"1234567 12|" * 40, b"12345 678 " * 60 + b"9123456 1", b"1:2 9:3", b""],
    ),
    "coco-text": (coco_text, [b"52203", b"0Pn1", b"PUn0", b"o0P", b"`^1"]),
    "coco-masks": (
        coco_masks,
        [
            b"23?",
            b"231",
            b"52203",
            b"o0P",
            b"ooooo?" * 40,
            b"[2, 3, 15]",
            b"[20]",
            b"[5,0,5,10]",
            RINGS,
            b"oo?1" * 99,
        ],
    ),
    "coco-entries": (json_entries, [RESULTS[1:], BOXED[1:], LIST, b'{"id": 3, "height": 4, "width": 5} , ']),
    "coco-results": (Coco("read_submission", "r.json"), [RESULTS, BOXED]),
    "coco-truth": (Coco("read_truth", "t.json"), [TRUTHS]),
    "polygons": (
        polygons,
        [bytes(range(256)), b"\0\0\0<\0@\0B\0D\0E" * 9, b"\3\3" + b"\x12\x5c\xff\x7b" * 30],
    ),
    "detection": (detection_kernels, [b"", b"1", b"ab"]),
    "matching": (matching_kernels, [b"", b"1", b"ab"]),
    "decimals": (
        decimal_cells,
        [
            b"0.25\n1\n.5\n7.",
            b"0.30000000000000004\n12345678901234567890.5\n00.1\n1e5",
            b"123456789012345678\n-3",
        ],
    ),
    "csv-pieces": (table_pieces, [WAD, DSB, BADLAD, WAD * 9, b"a,b\n" + b"1 2 " * 200 + b",\nc,d\n" * 9]),
    "table-kernels": (table_kernels, [WAD, DSB, b"0.25,1,2\n.5,7\r\n", b"," * 70 + b"\n" * 70]),
    "csv": (Checked("wad-2018", "s.csv"), [WAD]),
    "csv-columns": (Checked("dsb-2018", "s.csv"), [DSB, DSB.replace(b"a", b'"a"')]),
    "csv-truth": (Checked("badlad", "t.csv", truth=True), [BADLAD]),
    "json": (Checked("badlad", "t.json", truth=True), [ANNOTATIONS]),
}
