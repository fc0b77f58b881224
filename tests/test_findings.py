"""Every finding: its code and level, the place it names, and words that help; and what is no fault at all."""

import gzip
import importlib
import io
import struct
import tarfile
import zipfile
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image, PngImagePlugin

from tests.running import segjudge

WAD_HEADER = "ImageId,LabelId,Confidence,PixelCount,EncodedPixels"
BADLAD_HEADER = "Id,Predicted"
DSB_HEADER = "ImageId,EncodedPixels"
EMOJI_HEADER = "SampleID,PredictedMask"

IMAGES = {
    "wad-2018": "ImageId,Height,Width\nstreet,4,5\n0012,2,3\n3e5,2,3\nLane_7,2,3\n",
    "badlad": "ImageId,Height,Width\npage,2,3\n",
    "dsb-2018": "ImageId,Height,Width\ncell,3,4\nvoid,2,2\n",
    "emoji": "ImageId,Height,Width\nsmile,2,3\nwink,1,4\n",
}
HEADERS = {"wad-2018": WAD_HEADER, "badlad": BADLAD_HEADER, "dsb-2018": DSB_HEADER, "emoji": EMOJI_HEADER}
RUNS = {"wad-2018": "EncodedPixels", "badlad": "Predicted", "dsb-2018": "EncodedPixels"}


@dataclass
class Fault:
    """A submission, and the one kind of finding that it must give."""

    name: str
    task: str
    submission: bytes | dict[str, bytes]
    code: str
    level: str = "error"
    where: dict[str, Any] = field(default_factory=dict)
    says: tuple[str, ...] = ()  # in the message
    advises: tuple[str, ...] = ()
    totals: dict[str, int] | None = None  # all that is found; default: the one code once
    settings: tuple[str, ...] = ()
    ending: str = ".csv"


def wad(*rows):
    return "\n".join([WAD_HEADER, *rows, ""]).encode()


def badlad(*rows):
    """The rows of `page`: those given, the others empty."""
    given = {row.partition(",")[0] for row in rows}
    others = [f"page_{number}," for number in range(4) if f"page_{number}" not in given]
    return "\n".join([BADLAD_HEADER, *rows, *others, ""]).encode()


def dsb(*rows):
    """The rows of `cell` as given, and `void` empty."""
    return "\n".join([DSB_HEADER, *rows, "void,", ""]).encode()


def picture(pixels, mode=None, **how):
    file = io.BytesIO()
    Image.fromarray(np.asarray(pixels, np.uint8), mode).save(file, how.pop("format", "PNG"), **how)
    return file.getvalue()


SMILE = picture([[0, 255, 0], [255, 255, 0]])
WINK = picture([[0, 0, 255, 255]])
EMOJI_ROWS = "smile,masks/smile.png\nwink,masks/wink.png\n"


def emoji(smile=SMILE, rows=EMOJI_ROWS, header=EMOJI_HEADER, **more):
    members = {
        "submission.csv": f"{header}\n{rows}".encode(),
        "masks/smile.png": smile,
        "masks/wink.png": WINK,
    }
    return members | {name.replace("__", "/"): content for name, content in more.items()}


def zipped(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def twice_in_a_zip():
    """Two members of one name, which zipfile warns of: the second is renamed in the finished bytes."""
    return zipped(emoji() | {"masks/smilf.png": WINK}).replace(b"masks/smilf.png", b"masks/smile.png")


def patched_zip(method=None, flag=None):
    """A zip whose headers claim another method or a password."""
    data = bytearray(zipped(emoji()))
    for magic, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        place = data.find(magic)
        while place >= 0:
            if flag is not None:
                struct.pack_into("<H", data, place + at, flag)
            if method is not None:
                struct.pack_into("<H", data, place + at + 2, method)
            place = data.find(magic, place + 4)
    return bytes(data)


def tarred(members, link=None):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        if link:
            info = tarfile.TarInfo("masks/link.png")
            info.type, info.linkname = tarfile.SYMTYPE, link
            archive.addfile(info)
    return file.getvalue()


def soft(values):
    return picture([[0, values[0], 0], [255, values[-1], 0]])


def sixteen_bits():
    file = io.BytesIO()
    Image.fromarray(np.array([[0, 65535, 0], [65535, 0, 0]], np.uint16)).save(file, "PNG")
    return file.getvalue()


def see_through():
    pixels = np.full((2, 3, 4), 255, np.uint8)
    pixels[0, 0, 3] = 10
    return picture(pixels)


WIDE_CELL = "1 1" + " " * (32_767 - 3)
LONG_CELL = " ".join(f"{start} 1" for start in range(1, 200_000, 2))[:32_767]

HERE = {"file": "submission.csv"}
ROW2 = {**HERE, "row": 2}


def table_faults():
    """Faults that tables of every task have in common."""
    good = {"wad-2018": "street,33,0.5,2,0 2|", "badlad": "page_1,1 2", "dsb-2018": "cell,1 2"}
    build = {"wad-2018": wad, "badlad": badlad, "dsb-2018": dsb}
    for task, row in good.items():
        whole = build[task](row).decode()
        header, _, rest = whole.partition("\n")
        names = header.split(",")
        for coding in ("utf-16", "utf-16-le", "utf-16-be"):
            yield Fault(
                f"saved as {coding}", task, whole.encode(coding), "not-utf8", where=HERE, advises=("UTF-8",)
            )
        for mark, word in ((";", "semicolons"), ("\t", "tabs")):
            text = whole.replace(",", mark).encode()
            yield Fault(
                f"{word} for commas", task, text, "bad-delimiter", where={**HERE, "row": 1}, says=(word,)
            )
        for name, other, advises in (
            ("no header", None, ("header",)),
            ("a column misspelt", ",".join([*names[:-1], names[-1] + "s"]), (names[-1],)),
            ("columns reordered", ",".join([names[-1], *names[:-1]]), ("order",)),
            ("another column", header + ",Height", ("Height",)),
            ("the index of pandas", "Unnamed: 0," + header, ("index=False",)),
            ("the index of pandas without a name", "," + header, ("index=False",)),
            ("a column missing", ",".join(names[:-1]), (names[-1],)),
            ("a column twice", header + "," + names[-1], ()),
            ("header in lower case", header.lower(), (names[0],)),
        ):
            text = rest if other is None else f"{other}\n{rest}"
            where = {**HERE, "row": 1}
            yield Fault(name, task, text.encode(), "bad-header", where=where, says=(header,), advises=advises)
        yield Fault("an empty file", task, b"", "bad-header", where={**HERE, "row": 1})
        yield Fault("blank lines alone", task, b"\n\n", "bad-header", where={**HERE, "row": 1})
        glued = whole.replace(row, f"{row}{row}", 1).encode()
        totals = {"bad-field-count": 1} | ({"missing-id": 1} if task == "badlad" else {})
        totals |= {"missing-id": 1} if task == "dsb-2018" else {}
        yield Fault(
            "rows glued", task, glued, "bad-field-count", where=ROW2, advises=("glued",), totals=totals
        )
        cut = whole.replace(row, row.partition(",")[0], 1).encode()
        yield Fault("a row cut", task, cut, "bad-field-count", where=ROW2, advises=("cut",), totals=totals)
        strange = row.replace(row.partition(",")[0], "caf\xe9", 1).encode("latin-1")
        yield Fault(
            "a byte of Latin-1", task, whole.replace(row, "@", 1).encode().replace(b"@", strange),
            "not-utf8", where=ROW2, advises=("UTF-8",), totals={},
        )  # fmt: skip
        yield Fault(
            "broken quoting", task, whole.replace(row, f'"{row}', 1).encode(), "bad-field-count", where=HERE, totals={}
        )  # fmt: skip


def run_faults():
    """Faults of run-length text, each in the dialects of the three tables."""
    rows = {
        "wad-2018": (lambda cell, count=1: wad(f"street,33,0.5,{count},{cell}"), "street", 4, 5, 19),
        "badlad": (lambda cell, count=1: badlad(f"page_2,{cell}"), "page_2", 2, 3, 6),
        "dsb-2018": (lambda cell, count=1: dsb(f"cell,{cell}"), "cell", 3, 4, 12),
    }
    for task, (build, image, height, width, last) in rows.items():
        pipes = task == "wad-2018"
        first, end = (0, "|") if pipes else (1, "")
        parted = "|" if pipes else " "
        where = {**ROW2, "column": RUNS[task], "image": image}
        if task == "wad-2018":
            where["class"] = "33"
        elif task == "badlad":
            where["class"] = "2"
        leave = ("leave the row out",) if pipes else ("leave the cell empty",)

        def fault(name, cell, code, *says, advises=(), level="error", totals=None, count=1, settings=(),
                  task=task, build=build, where=where):  # fmt: skip
            return Fault(
                f"{name}: {cell[:20]}",
                task,
                build(cell, count),
                code,
                level,
                where,
                says,
                advises,
                totals,
                settings,
            )

        yield fault("a start alone", f"1 2{parted}4{end}", "rle-odd-tokens", '"4"')
        yield fault("decimal points", f"1.0 3.0{end}", "rle-not-integer", '"1.0"', advises=("int",))
        yield fault("powers of ten", f"1e0 2{end}", "rle-not-integer", '"1e0"')
        yield fault("a word", f"one 2{end}", "rle-not-integer", '"one"')
        yield fault("an underscore", f"1_0 2{end}", "rle-bad-delimiter", "_", totals={})
        yield fault("plus sign", f"+1 2{end}", "rle-not-integer", '"+1"')
        yield fault("padded with zeros", f"{'0' * 18}1 2{end}", "rle-not-integer", "digits")
        yield fault("other digits", f"١ 2{end}", "rle-bad-delimiter", totals={})
        yield fault("length zero", f"1 2{parted}4 0{end}", "rle-bad-length", '"4 0"')
        yield fault("negative length", f"1 -2{end}", "rle-bad-length", '"1 -2"')
        yield fault(
            "start too low", f"{first - 1} 2{end}", "rle-start-below-base", f'"{first - 1} 2"', str(first)
        )
        yield fault("far below", f"-{'9' * 30} 2{end}", "rle-start-below-base", "-999")
        for run in (f"{last} 2", f"{last + 1} 1", f"{first} {last - first + 2}", f"{10**17} 5", f"{10**30} 1",
                    f"{first} {10**30}"):  # fmt: skip
            yield fault(
                "beyond the last pixel", run + end, "rle-out-of-bounds",
                run[:20], f"{height} rows", f"{width} columns", f"last pixel is {last}",
            )  # fmt: skip
        yield fault("a pixel twice", f"2 2{parted}3 2{end}", "rle-overlap", '"2 2"', '"3 2"')
        yield fault("a run twice", f"2 2{parted}2 2{end}", "rle-overlap", '"2 2"')
        yield fault(
            "disordered and twice", f"4 2{parted}2 3{end}", "rle-overlap", '"2 3"', '"4 2"', totals={}
        )
        mild = fault(
            "disordered", f"5 1{parted}2 2{end}", "rle-unsorted", "2", "5", count=3, advises=("Sort",)
        )
        mild.level = "warning" if pipes else "error"
        yield mild
        other = fault("disordered the other way", f"5 1{parted}2 2{end}", "rle-unsorted", count=3)
        other.level, other.settings = (
            ("error", ("unsorted=error",)) if pipes else ("warning", ("unsorted=warn",))
        )
        yield other
        for word in ("nan", "NaN", "None", "-", "[]", "null", "-1"):
            yield fault("an empty marker", word, "rle-not-integer", word, advises=leave)
        for run in ("1 0", f"{first} 0"):
            yield fault("an empty run", run + end, "rle-bad-length", f'"{run}"', advises=leave)
        if pipes:
            yield fault("a list printed", '"[1, 3]"', "rle-not-integer", "[1, 3]", advises=leave)
            yield fault("no pipes at all", "1 3 10 5", "rle-bad-delimiter", advises=("`|`",), count=8)
            yield fault("commas for spaces", '"1,3|10,5|"', "rle-bad-delimiter", ",", count=8)
            yield fault("colons", "1:3|10:5|", "rle-bad-delimiter", ":", count=8)
            yield fault("two pipes", "1 3||10 5|", "rle-bad-delimiter", count=8)
            yield fault("the last pipe missing", "1 3|10 5", "rle-bad-delimiter", "`|`", advises=("last",),
                        level="warning", count=8)  # fmt: skip
        else:
            yield fault("a list printed", '"[1, 3]"', "rle-not-integer", "[1, 3]", advises=leave)
            yield fault("pipes", "1 2|4 1|", "rle-bad-delimiter", "|")
            yield fault("commas", '"1,2,4,1"', "rle-bad-delimiter", ",")
            yield fault("tabs", "1\t2\t4\t1", "rle-bad-delimiter")
            yield fault(
                "a spreadsheet's cell", WIDE_CELL, "rle-truncated", "32,767", advises=("spreadsheet",)
            )
    whole = badlad("page_0,1 2").decode().splitlines()
    whole[-1] = "page_3,1 2 5"
    yield Fault(
        "cut inside the last row", "badlad", "\n".join(whole).encode(), "rle-truncated",
        where={**HERE, "row": 5, "column": "Predicted"}, totals={"rle-truncated": 1, "rle-odd-tokens": 1},
    )  # fmt: skip
    yield Fault(
        "cut inside the last row", "wad-2018", wad("0012,33,0.5,1,0 1|", "street,33,0.5,8,1 3|10 5|").rstrip(b" 5|\n"),
        "rle-truncated", where={**HERE, "row": 3}, totals={},
    )  # fmt: skip
    yield Fault(
        "cut inside the last row's id", "badlad", "\n".join([*whole[:-1], "page"]).encode(), "rle-truncated",
        where={**HERE, "row": 5}, totals={"rle-truncated": 1, "bad-field-count": 1, "missing-id": 1},
    )  # fmt: skip
    yield Fault(
        "a spreadsheet's cell, cut", "wad-2018", wad(f"street,33,0.5,9,{LONG_CELL}"), "rle-truncated",
        where=ROW2, says=("32,767",), totals={},
    )  # fmt: skip


def wad_faults():
    place = {**ROW2, "image": "street"}
    for text in ("nan", "NaN", "inf", "-inf", "Infinity", "", "high", "1_0", "0x1", "1e999", "0,5", "--1", "1.2.3",
                 ".", "e5", "½", "0.5f"):  # fmt: skip
        cell = f'"{text}"' if "," in text else text
        where = {**place, "column": "Confidence"}
        yield Fault(f"confidence {text!r}", "wad-2018", wad(f"street,33,{cell},2,0 2|"), "bad-confidence", where=where,
                    says=(text,))  # fmt: skip
    for text in ("1.5", "-0.1", "1e2", "87", "-3.25e0", "1.0000001"):
        where = {**place, "column": "Confidence"}
        yield Fault(f"confidence {text}", "wad-2018", wad(f"street,33,{text},2,0 2|"), "confidence-range", "warning",
                    where, advises=("logits",))  # fmt: skip
    for text in (
        "0",
        "37",
        "161",
        "65535",
        "1",
        "330",
        "33.0",
        "car",
        "-33",
        "",
        "0x21",
        "99999999999999999999",
    ):
        yield Fault(
            f"class {text!r}", "wad-2018", wad(f"street,{text},0.5,2,0 2|"), "unknown-class", where=place
        )
    yield Fault("a class of the truth alone", "wad-2018", wad("street,161,0.5,2,0 2|"), "unknown-class", where=place,
                says=("161", "group"))  # fmt: skip
    yield Fault("PixelCount 0", "wad-2018", wad("street,33,0.5,0,0 2|"), "empty-mask", where=place)
    yield Fault("no runs", "wad-2018", wad("street,33,0.5,2,"), "empty-mask", where=place)
    yield Fault("nothing at all", "wad-2018", wad("street,33,0.5,0,"), "empty-mask", where=place)
    for count in ("3", "1", "999999999999"):
        yield Fault(f"PixelCount {count}", "wad-2018", wad(f"street,33,0.5,{count},0 2|"), "pixel-count-mismatch",
                    where=place, says=(count, "2"))  # fmt: skip
    for count in ("2.0", "two", "", "-2"):
        where = {**place, "column": "PixelCount"}
        yield Fault(f"PixelCount {count!r}", "wad-2018", wad(f"street,33,0.5,{count},0 2|"), "pixel-count-mismatch",
                    where=where)  # fmt: skip
    yield Fault("count and confidence swapped", "wad-2018", wad("street,33,8,0.7,1 3|10 5|"), "pixel-count-mismatch",
                where=place, totals={"pixel-count-mismatch": 1, "confidence-range": 1})  # fmt: skip
    yield Fault("the header twice", "wad-2018", wad("street,33,0.5,2,0 2|", WAD_HEADER), "unknown-class",
                where={**HERE, "row": 3}, totals={})  # fmt: skip
    yield Fault("overlapping, which is forbidden", "wad-2018",
                wad("street,33,0.5,2,0 2|", "0012,33,0.5,2,0 2|", "street,36,0.4,3,1 3|"), "masks-overlap",
                where={**HERE, "row": 4, "image": "street"}, says=("2", "4", "1 pixel"),
                settings=("overlapping=error",))  # fmt: skip
    for name, image, advises in (
        ("strange", "boulevard", ()),
        ("a slip", "stret", ("street",)),
        ("a spreadsheet took the zeros", "12", ("0012", "spreadsheet")),
        ("a spreadsheet took the power", "300000", ("3e5", "spreadsheet")),
        ("pandas made it a float", "12.0", ("0012", "spreadsheet")),
        ("written as 3E+05", "3E+05", ("3e5",)),
        ("with an ending", "street.png", ("ending",)),
        ("with an ending and zeros", "0012.jpg", ("ending",)),
        ("with a folder", "test/street.png", ("folder",)),
        ("in capitals", "STREET", ("street", "case")),
        ("in small letters", "lane_7", ("Lane_7", "case")),
        ("with a space", " street", ("space",)),
        ("an empty id", "", ()),
    ):
        yield Fault(f"{name}: {image!r}", "wad-2018", wad("0012,33,0.5,2,0 2|", f"{image},33,0.5,2,0 2|"), "unknown-id",
                    where={**HERE, "row": 3, "image": image}, says=(image,), advises=advises)  # fmt: skip


def id_faults():
    yield Fault("an id twice", "badlad", badlad("page_0,1 1", "page_1,", "page_0,2 1"), "duplicate-id",
                where={**HERE, "row": 4, "image": "page_0", "class": "0"}, says=("row 2",))  # fmt: skip
    yield Fault("an id missing", "badlad", badlad().replace(b"page_2,\n", b""), "missing-id",
                where={**HERE, "row": None, "image": "page_2"}, says=("page_2",))  # fmt: skip
    yield Fault(
        "the header alone", "badlad", b"Id,Predicted\n", "missing-id", where=HERE, totals={"missing-id": 4}
    )
    yield Fault("another image", "badlad", badlad("leaf_0,"), "unknown-id", where={**ROW2, "image": "leaf_0"})
    yield Fault(
        "another class", "badlad", badlad("page_4,"), "unknown-class", where={**ROW2, "image": "page_4"}
    )
    yield Fault(
        "no class", "badlad", badlad("page,"), "unknown-id", where={**ROW2, "image": "page"}, advises=("_",)
    )
    yield Fault("a class in words", "badlad", badlad("page_table,"), "unknown-id", where=ROW2, totals={})
    yield Fault("in capitals", "badlad", badlad("PAGE_0,"), "unknown-id", where={**ROW2, "image": "PAGE_0"},
                advises=("case",))  # fmt: skip
    yield Fault("none, twice", "dsb-2018", dsb("cell,1 2", "void,"), "duplicate-id",
                where={**HERE, "row": 4, "image": "void"}, says=("row 3",))  # fmt: skip
    yield Fault("none beside an object", "dsb-2018", dsb("cell,1 2", "void,1 1"), "duplicate-id",
                where={**HERE, "row": 4, "image": "void"}, says=("row 3", "empty"))  # fmt: skip
    yield Fault("an object beside none", "dsb-2018", dsb("cell,", "cell,1 2"), "duplicate-id",
                where={**HERE, "row": 3, "image": "cell"}, says=("row 2",))  # fmt: skip
    yield Fault("an image missing", "dsb-2018", dsb(), "missing-id", where={**HERE, "row": None, "image": "cell"},
                advises=("empty cell",))  # fmt: skip
    yield Fault("another image", "dsb-2018", dsb("cell,1 2", "tissue,1 2"), "unknown-id",
                where={**HERE, "row": 3, "image": "tissue"})  # fmt: skip
    yield Fault("two objects share a pixel", "dsb-2018", dsb("cell,1 3", "cell,9 2", "cell,3 2"), "masks-overlap",
                where={**HERE, "row": 4, "image": "cell"}, says=("2", "4", "1 pixel"))  # fmt: skip


def archive_faults():
    box = {"file": "submission.zip"}
    first = {**box, "row": 2, "image": "smile"}

    def fault(name, members, code, where, *says, **more):
        ending = more.pop("ending", ".zip")
        return Fault(name, "emoji", members, code, where=where, says=says, ending=ending, **more)

    yield fault("soft edges", emoji(soft([64, 192])), "mask-not-binary", {**first, "member": "masks/smile.png"},
                "64", "192")  # fmt: skip
    yield fault("soft edges, cut at 128", emoji(soft([64, 192])), "mask-not-binary",
                {**first, "member": "masks/smile.png"}, "64", "192", "128", level="warning",
                settings=("binarize=128",))  # fmt: skip
    for settings in ((), ("binarize=128",)):
        yield fault("zeros and ones", emoji(picture([[0, 1, 0], [1, 0, 0]])), "mask-not-binary", first,
                    advises=("255",), settings=settings)  # fmt: skip
        yield fault("16 bits", emoji(sixteen_bits()), "bad-image-mode", first, "16", settings=settings)
        yield fault("see-through", emoji(see_through()), "bad-image-mode", first, settings=settings)
    yield fault("a JPEG", emoji(picture([[0, 255, 0], [255, 0, 0]], format="JPEG")), "not-png",
                {**first, "member": "masks/smile.png"}, "JPEG")  # fmt: skip
    yield fault("no picture at all", emoji(b"hello"), "not-png", first)
    yield fault("an empty file", emoji(b""), "not-png", first, "0 bytes")
    yield fault("a PNG cut short", emoji(SMILE[:40]), "not-png", first)
    yield fault("another size", emoji(picture([[0, 255, 0]])), "shape-mismatch", first, "1 rows x 3", "2 x 3")
    yield fault(
        "the size swapped", emoji(picture([[0, 255], [0, 0], [0, 0]])), "shape-mismatch", first, "swapped"
    )
    yield fault("no such file", emoji(rows="smile,masks/grin.png\nwink,masks/wink.png\n"), "missing-file",
                {**first, "member": "masks/grin.png"}, "masks/grin.png",
                totals={"missing-file": 1, "extra-file": 1})  # fmt: skip
    yield fault("case of a file", emoji(rows="smile,masks/Smile.PNG\nwink,masks/wink.png\n"), "missing-file", first,
                advises=("smile.png",), totals={"missing-file": 1, "extra-file": 1})  # fmt: skip
    yield fault("a file that nobody names", emoji(notes__txt=b"hello"), "extra-file", {**box, "member": "notes/txt"},
                level="note")  # fmt: skip
    for path in (
        "../smile.png",
        "/etc/passwd",
        "masks/../../smile.png",
        "C:/smile.png",
        "\\\\host\\smile.png",
    ):
        yield fault(f"a row leads out: {path}", emoji(rows=f"smile,{path}\nwink,masks/wink.png\n"), "unsafe-path",
                    first, totals={"unsafe-path": 1, "extra-file": 1})  # fmt: skip
    for name in ("../evil.png", "/evil.png", "a/../../evil.png", "C:\\evil.png"):
        yield fault(
            f"a member leads out: {name}", {**emoji(), name: WINK}, "unsafe-path", {**box, "member": name}
        )
    yield Fault("a link in a tar", "emoji", tarred(emoji(), "/etc/passwd"), "unsafe-path",
                where={"file": "submission.tar", "member": "masks/link.png"}, says=("link",),
                ending=".tar")  # fmt: skip
    yield fault("two tables", {"a/submission.csv": b"", "b/submission.csv": b"", "b/x.png": WINK},
                "ambiguous-submission", box, "a/submission.csv", "b/submission.csv")  # fmt: skip
    yield fault("two members of one name", twice_in_a_zip(), "ambiguous-submission",
                {**box, "member": "masks/smile.png"})  # fmt: skip
    yield fault("no table", {"table.csv": b"", "x.png": WINK}, "missing-file",
                {**box, "member": "submission.csv"}, advises=("table.csv",))  # fmt: skip
    yield Fault("a password", "emoji", patched_zip(flag=1), "bad-archive", where={"file": "submission.zip"},
                says=("encrypted",), ending=".zip", totals={})  # fmt: skip
    yield Fault("an unknown packing", "emoji", patched_zip(method=9), "bad-compression",
                where={"file": "submission.zip"}, ending=".zip", totals={})  # fmt: skip
    yield Fault("cut short", "emoji", zipped(emoji())[:-30], "bad-archive", where={"file": "submission.zip"},
                ending=".zip")  # fmt: skip
    yield Fault("no archive", "emoji", b"SampleID,PredictedMask\n", "bad-archive", where={"file": "submission.zip"},
                ending=".zip")  # fmt: skip
    yield Fault("nothing", "emoji", b"", "bad-archive", where={"file": "submission.zip"}, ending=".zip")
    yield fault("too much inside", {**emoji(), "masks/pad.png": bytes(100_000)}, "too-large-unpacked", box,
                "limit", settings=("max_unpacked=9999",))  # fmt: skip
    table = {**box, "member": "submission.csv", "row": 1}
    yield fault("tabs for commas", emoji(header="SampleID\tPredictedMask", rows=EMOJI_ROWS.replace(",", "\t")),
                "bad-delimiter", table, totals={})  # fmt: skip
    yield fault("a column misspelt", emoji(header="SampleID,Mask"), "bad-header", table, totals={})
    yield fault("UTF-16", emoji() | {"submission.csv": f"{EMOJI_HEADER}\n{EMOJI_ROWS}".encode("utf-16")}, "not-utf8",
                {**box, "member": "submission.csv"}, totals={})  # fmt: skip
    yield fault("a row cut", emoji(rows=EMOJI_ROWS + "smile\n"), "bad-field-count", {**box, "row": 4})
    yield fault("a sample missing", emoji(rows="smile,masks/smile.png\n"), "missing-id", {**box, "image": "wink"},
                totals={"missing-id": 1, "extra-file": 1})  # fmt: skip
    yield fault("a sample twice", emoji(rows=EMOJI_ROWS + "smile,masks/smile.png\n"), "duplicate-id",
                {**box, "row": 4, "image": "smile"}, "row 2")  # fmt: skip
    yield fault("another sample", emoji(rows=EMOJI_ROWS + "laugh,masks/smile.png\n"), "unknown-id",
                {**box, "row": 4, "image": "laugh"}, "laugh")  # fmt: skip
    for task, build in (("wad-2018", wad), ("badlad", badlad), ("dsb-2018", dsb)):
        name = "submission.csv.zip"
        where = {"file": name}
        rows = build("street,33,0.5,2,0 2|") if build is wad else build()
        two = zipped({"a.csv": rows, "b.csv": rows})
        yield Fault("two tables in a zip", task, two, "ambiguous-submission", where=where, ending=".csv.zip")
        cut = zipped({"a.csv": rows})[:-20]
        yield Fault("a zip cut short", task, cut, "bad-archive", where=where, ending=".csv.zip")
        yield Fault("gzip cut short", task, gzip.compress(rows * 50)[:-12], "bad-archive",
                    where={"file": "submission.csv.gz"}, ending=".csv.gz")  # fmt: skip
        swelling = gzip.compress(rows + b"\n" * 100_000)
        yield Fault("gzip that swells", task, swelling, "too-large-unpacked",
                    where={"file": "submission.csv.gz"}, ending=".csv.gz", settings=("max_unpacked=9999",))  # fmt: skip
        yield Fault("a zip that swells", task, zipped({"a.csv": rows + b"\n" * 100_000}), "too-large-unpacked",
                    where=where, ending=".csv.zip", settings=("max_unpacked=9999",))  # fmt: skip


FAULTS = [*table_faults(), *run_faults(), *wad_faults(), *id_faults(), *archive_faults()]


def written(folder, submission, ending):
    path = folder / f"submission{ending}"
    path.write_bytes(zipped(submission) if isinstance(submission, dict) else submission)
    return path


def checked(folder, task, submission, *more, ending=".csv", sizes=True):
    images = folder / "images.csv"
    images.write_text(IMAGES[task])
    where = written(folder, submission, ending) if not hasattr(submission, "exists") else submission
    return segjudge("check", task, where, *(["--images", images] if sizes else []), "--json", *more)


@pytest.mark.parametrize("fault", FAULTS, ids=[f"{fault.task} {fault.name}" for fault in FAULTS])
def test_a_fault_is_found_where_it_is(fault, tmp_path):
    changes = [word for pair in fault.settings for word in ("--set", pair)]
    outcome = checked(tmp_path, fault.task, fault.submission, *changes, ending=fault.ending)
    found = outcome.json
    mine = [f for f in found["findings"] if f["code"] == fault.code and f["level"] == fault.level]
    assert mine, found["findings"]
    assert outcome.status == (1 if any(f["level"] == "error" for f in found["findings"]) else 0)
    assert found["ok"] is (outcome.status == 0)
    if fault.totals != {}:
        assert found["totals"] == (fault.totals or {fault.code: 1})
    finding = mine[0]
    for key, value in fault.where.items():
        assert finding["where"][key] == value, key
    for words in fault.says:
        assert words in finding["message"]
    for words in fault.advises:
        assert words in finding["advice"], finding["advice"]


@pytest.mark.parametrize("fault", FAULTS, ids=[f"{fault.task} {fault.name}" for fault in FAULTS])
def test_every_finding_is_told_in_sentences(fault, tmp_path):
    changes = [word for pair in fault.settings for word in ("--set", pair)]
    for finding in checked(tmp_path, fault.task, fault.submission, *changes, ending=fault.ending).json[
        "findings"
    ]:
        assert set(finding) == {"code", "level", "where", "message", "advice"}
        assert set(finding["where"]) == {"file", "row", "column", "entry", "image", "class", "member"}
        assert finding["where"]["file"] == f"submission{fault.ending}"
        for text in (finding["message"], finding["advice"]):
            assert len(text) > 8
            assert text.rstrip("”’\"'")[-1] in ".?!)`", text
            assert text == text.strip()
            assert len(text) < 500
            assert text.isprintable()


def test_every_code_of_a_submission_is_provoked():
    wanted = {
        *(
            "not-utf8",
            "bad-delimiter",
            "bad-header",
            "bad-field-count",
            "unknown-id",
            "missing-id",
            "duplicate-id",
        ),
        *("unknown-class", "bad-confidence", "confidence-range", "rle-odd-tokens", "rle-not-integer"),
        *("rle-bad-length", "rle-bad-delimiter", "rle-start-below-base", "rle-out-of-bounds", "rle-overlap"),
        *(
            "rle-unsorted",
            "rle-truncated",
            "empty-mask",
            "pixel-count-mismatch",
            "masks-overlap",
            "mask-not-binary",
        ),
        *("not-png", "bad-image-mode", "shape-mismatch", "missing-file", "extra-file", "unsafe-path"),
        *("ambiguous-submission", "bad-archive", "too-large-unpacked", "bad-compression"),
    }
    assert {fault.code for fault in FAULTS} == wanted


# --- what is no fault ---------------------------------------------------------------------------------------

GOOD = {
    "wad-2018": wad(
        "street,33,0.5,5,0 2|17 3|", "0012,36,1,6,0 6|", "street,33,.25,2,0 2|", "3e5,40,5e-1,1,5 1|"
    ),
    "badlad": badlad("page_1,1 2 5 2", "page_2,1 6"),
    "dsb-2018": dsb("cell,1 2 12 1", "cell,3 2"),
}

ODDITIES = {
    "a byte-order mark": lambda text: b"\xef\xbb\xbf" + text,
    "CRLF": lambda text: text.replace(b"\n", b"\r\n"),
    "a byte-order mark, CRLF and blank last lines": lambda text: b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n")
    + b"\r\n\r\n",
    "blank last lines": lambda text: text + b"\n\n\n",
    "blank lines within": lambda text: text.replace(b"\n", b"\n\n"),
    "no final newline": lambda text: text.rstrip(b"\n"),
    "no final newline after CRLF": lambda text: text.rstrip(b"\n").replace(b"\n", b"\r\n"),
    "spaces around header names": lambda text: b" , ".join(text.partition(b"\n")[0].split(b",")) + b" \n"
    + text.partition(b"\n")[2],
    "everything quoted": lambda text: b"\n".join(
        b",".join(b'"' + cell + b'"' for cell in line.split(b",")) for line in text.splitlines()
    ) + b"\n",
    "quoted with CRLF and a byte-order mark": lambda text: b"\xef\xbb\xbf" + b"\r\n".join(
        b",".join(b'"' + cell + b'"' for cell in line.split(b",")) for line in text.splitlines()
    ),
    "the header alone quoted": lambda text: b",".join(
        b'"' + name + b'"' for name in text.partition(b"\n")[0].split(b",")
    ) + b"\n" + text.partition(b"\n")[2],
    "one cell quoted": lambda text: text.replace(b",1 6", b',"1 6"').replace(b",3 2", b',"3 2"').replace(
        b",5 1|", b',"5 1|"'
    ),
    "gzip": gzip.compress,
    "two gzip members": lambda text: gzip.compress(text[:30]) + gzip.compress(text[30:]),
    "a zip": lambda text: zipped({"submission.csv": text}),
    "a zip made on a Mac": lambda text: zipped(
        {"x/submission.csv": text, "__MACOSX/x/._submission.csv": b"\0\5\x16\7", "x/.DS_Store": b"\0\0\0\1Bud1"}
    ),
}  # fmt: skip


@pytest.mark.parametrize("task", GOOD)
@pytest.mark.parametrize("oddity", ODDITIES)
def test_an_accepted_oddity_is_no_finding(task, oddity, tmp_path):
    outcome = checked(tmp_path, task, ODDITIES[oddity](GOOD[task]))
    assert outcome.json == {"ok": True, "findings": [], "totals": {}}
    assert outcome.status == 0


@pytest.mark.parametrize("task", GOOD)
@pytest.mark.parametrize("oddity", ODDITIES)
def test_an_accepted_oddity_holds_the_same_masks(task, oddity, tmp_path):
    cells = [line.split(",") for line in GOOD[task].decode().splitlines()]
    header, rows = cells[0], cells[1:]
    if task == "wad-2018":
        keep, sizes = (0, 1, 4), {"street": "4,5", "0012": "2,3", "3e5": "2,3"}
        rows = [row for row in rows if row[2] != ".25"]  # a truth names each object once
    else:
        keep, sizes = (0, 1), {"cell": "3,4", "void": "2,2"}
    truth = [",".join([*(header[place] for place in keep), "Height", "Width"])]
    for row in rows:
        size = sizes.get(row[0], "2,3")
        truth.append(",".join([*(row[place] for place in keep), size]))
    (tmp_path / "truth.csv").write_text("\n".join(truth) + "\n")
    outcome = segjudge(
        "score",
        task,
        tmp_path / "truth.csv",
        written(tmp_path, ODDITIES[oddity](GOOD[task]), ".csv"),
        "--json",
    )
    assert outcome.json["findings"] == []
    assert outcome.json["score"] == 1


@pytest.mark.parametrize(
    ("task", "rows"),
    [
        ("wad-2018", ["street,33,0.5,5,1 3|4 2|", "street,33,0.5,20,0 20|", "street,33,0.5,1,19 1|"]),
        ("wad-2018", ["street,33,0.7,8, 1  3 | 10 5| "]),
        (
            "wad-2018",
            ["street,33,0,1,0 1|", "street,33,1.0,1,0 1|", "street,33,00.5,1,0 1|", "street,33,+.5,1,0 1|"],
        ),
        ("badlad", ["page_0,1 2 3 1", "page_1,6 1", "page_2,1 6", "page_3,4 3"]),
        ("badlad", ["page_0, 1  2 "]),
        ("dsb-2018", ["cell,1 3 4 3", "cell,12 1", "cell,7 5"]),
        ("dsb-2018", ["cell,01 003"]),
    ],
)
def test_borders_and_spaces_are_no_finding(task, rows, tmp_path):
    build = {"wad-2018": wad, "badlad": badlad, "dsb-2018": dsb}[task]
    assert checked(tmp_path, task, build(*rows)).json["totals"] == {}


def test_a_missing_last_pipe_takes_the_mask_whole(tmp_path):
    (tmp_path / "truth.csv").write_text(
        "ImageId,LabelId,EncodedPixels,Height,Width\nstreet,33,1 3|10 5|,4,5\n"
    )
    path = written(tmp_path, wad("street,33,0.7,8,1 3|10 5"), ".csv")
    outcome = segjudge("score", "wad-2018", tmp_path / "truth.csv", path, "--json")
    assert outcome.status == 0
    assert outcome.json["score"] == 1
    assert [(f["code"], f["level"]) for f in outcome.json["findings"]] == [("rle-bad-delimiter", "warning")]


def test_disordered_runs_take_the_mask_whole(tmp_path):
    (tmp_path / "truth.csv").write_text(
        "ImageId,LabelId,EncodedPixels,Height,Width\nstreet,33,1 3|4 1|10 5|,4,5\n"
    )
    path = written(tmp_path, wad("street,33,0.7,9,10 5|4 1|1 3|"), ".csv")
    outcome = segjudge("score", "wad-2018", tmp_path / "truth.csv", path, "--json")
    assert outcome.json["score"] == 1
    assert [(f["code"], f["level"]) for f in outcome.json["findings"]] == [("rle-unsorted", "warning")]


PLAIN = emoji()
LAYOUTS = {
    "flat": PLAIN,
    "one top folder": {f"entry/{name}": content for name, content in PLAIN.items()},
    "two top folders deep": {f"a/b/{name}": content for name, content in PLAIN.items()},
    "made on a Mac": {f"entry/{name}": content for name, content in PLAIN.items()}
    | {"__MACOSX/entry/._submission.csv": b"\0\5", "entry/.DS_Store": b"x", "entry/masks/.DS_Store": b"x"},
    "made on Windows": {name.replace("/", "\\"): content for name, content in PLAIN.items()}
    | {"Thumbs.db": b"x"},
    "with ./": {f"./{name}": content for name, content in PLAIN.items()},
    "rows with backslashes": emoji(rows=EMOJI_ROWS.replace("/", "\\")),
    "rows with ./": emoji(rows=EMOJI_ROWS.replace("masks/", "./masks/")),
    "rows with the top folder": {
        f"entry/{name}": content
        for name, content in emoji(rows=EMOJI_ROWS.replace("masks/", "entry/masks/")).items()
    },
    "table in a folder": {"t/submission.csv": PLAIN["submission.csv"]}
    | {name: content for name, content in PLAIN.items() if name.startswith("masks")},
    "table and masks in a folder, another beside": {f"t/{name}": content for name, content in PLAIN.items()}
    | {".DS_Store": b"x"},
    "a byte-order mark and CRLF": PLAIN
    | {"submission.csv": b"\xef\xbb\xbf" + PLAIN["submission.csv"].replace(b"\n", b"\r\n") + b"\r\n"},
    "quoted": emoji(rows='"smile","masks/smile.png"\n"wink","masks/wink.png"'),
    "palette": emoji(),
}


def as_folder(folder, members):
    for name, content in members.items():
        place = folder / name.replace("\\", "/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    return folder


@pytest.mark.parametrize("form", ["zip", "tar", "folder"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_usual_layout_is_no_finding(layout, form, tmp_path):
    members = LAYOUTS[layout]
    if form == "folder":
        submission = as_folder(tmp_path / "submission", members)
    else:
        submission = tmp_path / f"submission.{form}"
        submission.write_bytes(zipped(members) if form == "zip" else tarred(members))
    outcome = checked(tmp_path, "emoji", submission)
    assert outcome.json == {"ok": True, "findings": [], "totals": {}}


@pytest.mark.parametrize("packing", ["gz", "xz", "bz2"])
def test_a_packed_tar_is_no_finding(packing, tmp_path):
    submission = tmp_path / f"submission.tar.{packing}"
    opener = {"gz": "gzip", "xz": "lzma", "bz2": "bz2"}[packing]
    submission.write_bytes(importlib.import_module(opener).compress(tarred(PLAIN)))
    assert checked(tmp_path, "emoji", submission).json["totals"] == {}


def test_a_link_in_a_folder_is_refused_and_not_read(tmp_path):
    (tmp_path / "secret.png").write_bytes(SMILE)
    submission = as_folder(tmp_path / "submission", PLAIN)
    (submission / "masks" / "smile.png").unlink()
    (submission / "masks" / "smile.png").symlink_to(tmp_path / "secret.png")
    outcome = checked(tmp_path, "emoji", submission)
    assert outcome.status == 1
    assert "unsafe-path" in outcome.json["totals"]


@pytest.mark.parametrize("mode", ["1", "P", "RGB", "RGBA", "LA"])
def test_pictures_of_other_modes_count_by_their_gray(mode, tmp_path):
    file = io.BytesIO()
    Image.open(io.BytesIO(SMILE)).convert(mode).save(file, "PNG")
    assert checked(tmp_path, "emoji", emoji(file.getvalue())).json["totals"] == {}


def test_a_rotation_tag_is_not_applied(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    file = io.BytesIO()
    info = PngImagePlugin.PngInfo()
    info.add_text("Comment", "made with a phone")
    Image.open(io.BytesIO(SMILE)).save(file, "PNG", exif=exif, pnginfo=info)
    assert checked(tmp_path, "emoji", emoji(file.getvalue())).json["totals"] == {}


def test_names_are_compared_after_unicode_normal_form(tmp_path):
    members = emoji(rows="smile,masks/sm\u00efle.png\nwink,masks/wink.png\n")
    members["masks/smi\u0308le.png"] = members.pop("masks/smile.png")
    assert checked(tmp_path, "emoji", members).json["totals"] == {}


@pytest.mark.parametrize("column", [0, 1])
def test_parquet_text_that_is_no_utf8_is_told(column, tmp_path):
    offsets, text = pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\x80\xff")
    broken = pa.Array.from_buffers(pa.string(), 1, [None, offsets, text])
    columns = [pa.array(["void"]), pa.array([""])]
    columns[column] = broken
    pq.write_table(pa.table(columns, DSB_HEADER.split(",")), tmp_path / "submission.parquet")
    outcome = checked(tmp_path, "dsb-2018", tmp_path / "submission.parquet")
    assert outcome.status == 1
    assert "not-utf8" in outcome.json["totals"]


@pytest.mark.parametrize("runs", ["-0 2|", "-00 2|", "0 2|4 -0|"])
def test_a_zero_with_a_sign_is_told(runs, tmp_path):
    outcome = checked(tmp_path, "wad-2018", wad(f"street,33,0.5,2,{runs}"))
    assert outcome.status == 1
    assert "rle-not-integer" in outcome.json["totals"]


# --- sizes that nobody knows, usage, two faults at once -----------------------------------------------------


@pytest.mark.parametrize("task", GOOD)
def test_unknown_sizes_are_a_note_and_no_bound(task, tmp_path):
    rows = {
        "wad-2018": wad("street,33,0.5,1,9999 1|"),
        "badlad": b"Id,Predicted\nleaf_0,9999 1\n",
        "dsb-2018": b"ImageId,EncodedPixels\nx,9999 1\n",
    }
    outcome = checked(tmp_path, task, rows[task], sizes=False)
    assert outcome.status == 0
    assert [(f["code"], f["level"]) for f in outcome.json["findings"]] == [("sizes-unknown", "note")]


def test_all_faults_of_a_file_come_in_one_pass(tmp_path):
    rows = [
        "street,33,nan,2,0 2|",
        "street,33,0.5,3,0 2|",
        "street,99,0.5,2,0 2|",
        "road,33,0.5,2,0 2|",
        "street,33,0.5,2,19 2|",
        "street,33,0.5,2,0 2|,",
        "street,33,1.5,0,",
        "street,33,high,x,1.5 2|0 0|",
    ]
    found = checked(tmp_path, "wad-2018", wad(*rows)).json
    assert found["totals"] == {
        "bad-confidence": 2,
        "pixel-count-mismatch": 2,
        "unknown-class": 1,
        "unknown-id": 1,
        "rle-out-of-bounds": 1,
        "bad-field-count": 1,
        "confidence-range": 1,
        "empty-mask": 1,
        "rle-not-integer": 1,
        "rle-bad-length": 1,
    }
    rows = [finding["where"]["row"] for finding in found["findings"] if finding["level"] == "error"]
    assert rows == sorted(rows)


def test_runs_of_an_unknown_image_are_checked_too(tmp_path):
    found = checked(tmp_path, "wad-2018", wad("road,33,0.5,2,0 2|0 x|")).json
    assert set(found["totals"]) == {"unknown-id", "rle-not-integer"}


# --- caps ---------------------------------------------------------------------------------------------------

MANY = {
    "unknown-id": wad(*(f"road{n},33,0.5,2,0 2|" for n in range(31))),
    "unknown-class": wad(*(f"street,{n + 100},0.5,2,0 2|" for n in range(31))),
    "bad-confidence": wad(*("street,33,nan,2,0 2|" for _ in range(31))),
    "confidence-range": wad(*("street,33,2,2,0 2|" for _ in range(31))),
    "pixel-count-mismatch": wad(
        *(f"{i},33,1,7,0 2|" for i in ["street", "0012", "3e5"] * 10), "street,33,1,x,0 2|"
    ),
    "rle-out-of-bounds": wad(
        *(f"{i},33,0.5,7,0 99|" for i in ["street", "0012", "3e5"] * 10), "street,33,1,7,0 99|"
    ),
    "rle-bad-delimiter": wad(*("street,33,0.5,2,0 2" for _ in range(31))),
    "empty-mask": wad(*("street,33,0.5,0," for _ in range(31))),
    "bad-field-count": wad(*("street,33" for _ in range(31))),
    "duplicate-id": dsb(*("void," for _ in range(31)), "cell,"),
    "masks-overlap": dsb("cell,1 12", *(f"cell,{1 + n % 12} 1" for n in range(31))),
}


@pytest.mark.parametrize("code", MANY)
@pytest.mark.parametrize("workers", [1, 3])
def test_twenty_of_a_code_are_shown_and_all_are_counted(code, workers, tmp_path, monkeypatch):
    monkeypatch.setattr("segjudge.chunks._MOST_IMAGES", 1)
    task = "dsb-2018" if code in {"duplicate-id", "masks-overlap"} else "wad-2018"
    few = checked(tmp_path, task, MANY[code], "--workers", workers)
    every = checked(tmp_path, task, MANY[code], "--workers", workers, "--all")
    assert few.json["totals"] == every.json["totals"]
    total = few.json["totals"][code]
    assert total >= 31
    assert [f["code"] for f in few.json["findings"]].count(code) == 20
    assert [f["code"] for f in every.json["findings"]].count(code) == total
    assert few.status == every.status
    assert few.json["ok"] is every.json["ok"]
    assert set(every.json) == {"ok", "findings", "totals"}


def test_missing_rows_are_capped_and_counted(tmp_path):
    (tmp_path / "many.csv").write_text("ImageId,Height,Width\n" + "".join(f"p{n},2,3\n" for n in range(30)))
    path = written(tmp_path, b"Id,Predicted\np3_1,\n", ".csv")
    outcome = segjudge("check", "badlad", path, "--images", tmp_path / "many.csv", "--json")
    assert outcome.json["totals"] == {"missing-id": 119}
    assert len(outcome.json["findings"]) == 20
    outcome = segjudge("check", "badlad", path, "--images", tmp_path / "many.csv", "--json", "--all")
    assert len(outcome.json["findings"]) == 119


def test_pictures_are_capped_and_counted(tmp_path):
    rows = "".join(f"e{n},masks/e{n}.png\n" for n in range(25))
    members = {"submission.csv": f"{EMOJI_HEADER}\n{rows}".encode()}
    members |= {f"masks/e{n}.png": picture([[n + 1, 0]]) for n in range(25)}
    (tmp_path / "many.csv").write_text("ImageId,Height,Width\n" + "".join(f"e{n},1,2\n" for n in range(25)))
    path = written(tmp_path, members, ".zip")
    outcome = segjudge("check", "emoji", path, "--images", tmp_path / "many.csv", "--json", "--workers", 1)
    assert outcome.json["totals"] == {"mask-not-binary": 25}
    assert len(outcome.json["findings"]) == 20


@pytest.mark.parametrize("task", GOOD)
def test_everything_of_nothing_is_one_object(task, tmp_path):
    outcome = checked(tmp_path, task, GOOD[task], "--all")
    assert outcome.json == {"ok": True, "findings": [], "totals": {}}


def test_a_faulty_truth_leaves_one_object_even_when_findings_are_streamed(tmp_path):
    (tmp_path / "truth.csv").write_text(
        "ImageId,LabelId,EncodedPixels,Height,Width\nstreet,33,1 3|,4,5\nstreet,36,1 3|,5,4\n"
    )
    path = written(tmp_path, wad("street,33,nan,8,1 3|10 5", "road,33,1,1,0 1|"), ".csv")
    for more in ([], ["--all"]):
        outcome = segjudge("check", "wad-2018", path, "--truth", tmp_path / "truth.csv", "--json", *more)
        assert outcome.status == 3
        assert outcome.json["error"]["kind"] == "truth"


def test_people_see_what_programs_see(tmp_path):
    path = written(tmp_path, wad("street,33,nan,2,0 2|", "road,33,1,1,0 1|"), ".csv")
    for more in ([], ["--all"]):
        outcome = segjudge("check", "wad-2018", path, *more)
        assert outcome.status == 1
        assert "submission.csv:2" in outcome.out
        assert "bad-confidence" in outcome.out
        assert "sizes-unknown" in outcome.out
        assert "\x1b" not in outcome.out + outcome.err


# --- the host's side ----------------------------------------------------------------------------------------


def truth_of(task, *rows):
    header = {
        "wad-2018": "ImageId,LabelId,EncodedPixels,Height,Width",
        "badlad": "Id,Predicted,Height,Width",
        "dsb-2018": "ImageId,EncodedPixels,Height,Width",
    }[task]
    return "\n".join([header, *rows, ""])


HOST = [
    ("wad-2018", ["a,33,0 2|,2,3", "a,33,1 2|,2,3"], "masks-overlap", "error", {"row": 3, "image": "a"}),
    ("wad-2018", ["a,33,0 2|,2,3", "a,33,3 2|,3,2"], "shape-mismatch", "error", {"row": 3, "image": "a"}),
    ("wad-2018", ["a,34,0 2|,2,3", "a,77,3 2|,2,3"], "unknown-class", "warning", {"row": 3, "image": "a"}),
    ("wad-2018", ["a,34,0 7|,2,3"], "rle-out-of-bounds", "error", {"row": 2, "image": "a", "class": "34"}),
    ("wad-2018", ["a,34,0 2|,two,3"], "shape-mismatch", "error", {"row": 2, "column": "Height"}),
    ("wad-2018", ["a,34,,2,3"], "empty-mask", "error", {"row": 2, "image": "a"}),
    ("dsb-2018", ["a,1 2,2,3", "a,2 2,2,3"], "masks-overlap", "warning", {"row": 3, "image": "a"}),
    ("dsb-2018", ["a,1 2,2,3", "a,,2,3"], "duplicate-id", "error", {"row": 3, "image": "a"}),
    ("dsb-2018", ["a,1 2,2,3", "a,9 1,2,3"], "rle-out-of-bounds", "error", {"row": 3, "image": "a"}),
    ("badlad", ["a_1,1 2,2,3", "a_1,,2,3"], "duplicate-id", "error", {"row": 3, "image": "a_1"}),
    ("badlad", ["a_1,1 2,2,3", "a_2,1 7,2,3"], "rle-out-of-bounds", "error", {"row": 3}),
    ("badlad", ["a_1,1 2,2,3", "a_9,1 2,2,3"], "unknown-class", "error", {"row": 3}),
    ("badlad", ["a_1,1 2,2,3", "a,1 2,2,3"], "unknown-id", "error", {"row": 3}),
    ("badlad", ["a_1,1 2"], "bad-field-count", "error", {"row": 2}),
]


@pytest.mark.parametrize(("task", "rows", "code", "level", "where"), HOST)
def test_a_fault_of_the_truth_is_found_where_it_is(task, rows, code, level, where, tmp_path):
    path = tmp_path / "truth.csv"
    path.write_text(truth_of(task, *rows))
    outcome = segjudge("check-truth", task, path, "--json")
    found = outcome.json
    mine = [f for f in found["findings"] if (f["code"], f["level"]) == (code, level)]
    assert mine, found
    assert {key: mine[0]["where"][key] for key in where} == where
    assert mine[0]["where"]["file"] == "truth.csv"
    assert outcome.status == (3 if level == "error" else 0)


def test_sizes_of_truth_and_list_that_disagree_are_a_fault_of_the_truth(tmp_path):
    (tmp_path / "truth.csv").write_text(truth_of("dsb-2018", "a,1 2,2,3"))
    (tmp_path / "images.csv").write_text("ImageId,Height,Width\na,3,2\n")
    outcome = segjudge(
        "check-truth", "dsb-2018", tmp_path / "truth.csv", "--images", tmp_path / "images.csv", "--json"
    )
    assert outcome.json["totals"] == {"shape-mismatch": 1}
    assert outcome.status == 3
    (tmp_path / "s.csv").write_text("ImageId,EncodedPixels\na,1 2\n")
    more = ["--images", tmp_path / "images.csv", "--json"]
    for words in (
        ["score", "dsb-2018", tmp_path / "truth.csv", tmp_path / "s.csv", *more],
        ["check", "dsb-2018", tmp_path / "s.csv", "--truth", tmp_path / "truth.csv", *more],
    ):
        outcome = segjudge(*words)
        assert outcome.status == 3
        assert outcome.json["error"]["kind"] == "truth"


def test_two_label_maps_of_one_image_are_a_fault_of_the_truth(tmp_path):
    labels = picture([[0, 1], [2, 2]])
    folder = as_folder(tmp_path / "truth", {"a.png": labels, "x/a_instanceIds.png": labels})
    outcome = segjudge("check-truth", "dsb-2018", folder, "--json")
    assert outcome.json["totals"] == {"duplicate-id": 1}
    assert outcome.json["findings"][0]["where"]["image"] == "a"


def test_an_image_that_a_list_has_and_the_truth_has_not(tmp_path):
    (tmp_path / "truth.csv").write_text(truth_of("dsb-2018", "a,1 2,2,3", "c,1 2,2,3"))
    (tmp_path / "images.csv").write_text("ImageId,Height,Width\na,2,3\nb,2,3\n")
    outcome = segjudge(
        "check-truth", "dsb-2018", tmp_path / "truth.csv", "--images", tmp_path / "images.csv", "--json"
    )
    assert outcome.json["totals"] == {"missing-id": 1, "unknown-id": 1}


def test_a_truth_without_rows_is_a_fault_of_the_truth(tmp_path):
    for task, rows in (
        ("wad-2018", wad()),
        ("dsb-2018", b"ImageId,EncodedPixels\n"),
        ("badlad", b"Id,Predicted\n"),
    ):
        (tmp_path / "truth.csv").write_text(truth_of(task))
        (tmp_path / "s.csv").write_bytes(rows)
        outcome = segjudge("score", task, tmp_path / "truth.csv", tmp_path / "s.csv", "--json")
        assert (outcome.status, outcome.json["error"]["kind"]) == (3, "truth")
        assert segjudge("check-truth", task, tmp_path / "truth.csv", "--json").status == 3


def test_standard_input_is_one_file(tmp_path):
    path = written(tmp_path, GOOD["wad-2018"], ".csv")
    for words in (
        ["score", "wad-2018", "-", "-"],
        ["score", "wad-2018", "-", path, "--images", "-"],
        ["check", "wad-2018", "-", "--truth", "-"],
        ["check", "wad-2018", "-", "--images", "-"],
        ["check", "wad-2018", path, "--truth", "-", "--images", "-"],
        ["check-truth", "wad-2018", "-", "--images", "-"],
    ):
        outcome = segjudge(*words, "--json", stdin=truth_of("wad-2018", "street,33,1 3|,4,5").encode())
        assert (outcome.status, outcome.json["error"]["kind"]) == (2, "usage"), words


JSON_FAULTS = [
    ("cut short", '{"images": [', "bad-json"),
    ("a list", "[]", "bad-json"),
    ("no images", '{"annotations": [], "categories": []}', "missing-field"),
    (
        "a size in words",
        '{"images": [{"id": 1, "height": "two", "width": 3}], "annotations": [], "categories": []}',
        "bad-type",
    ),
    (
        "counts that do not add up",
        (
            '{"images": [{"id": 1, "height": 2, "width": 3}], "categories": [{"id": 1, "name": "text box"}],'
            ' "annotations":'
            ' [{"id": 1, "image_id": 1, "category_id": 1, "segmentation": {"size": [2, 3], "counts": [2, 3]},'
            ' "area": 3, "bbox": [0, 0, 1, 1], "iscrowd": 1}]}'
        ),
        "rle-wrong-total",
    ),
    (
        "an image that is not there",
        (
            '{"images": [{"id": 1, "height": 2, "width": 3}], "categories": [{"id": 1, "name": "text box"}],'
            ' "annotations":'
            ' [{"id": 1, "image_id": 2, "category_id": 1, "segmentation": [[0, 0, 2, 0, 2, 2]],'
            ' "area": 3, "bbox": [0, 0, 1, 1], "iscrowd": 0}]}'
        ),
        "unknown-id",
    ),
]


@pytest.mark.parametrize(("name", "text", "code"), JSON_FAULTS, ids=[name for name, _, _ in JSON_FAULTS])
def test_a_fault_of_annotations_is_found(name, text, code, tmp_path):
    path = tmp_path / "truth.json"
    path.write_text(text)
    outcome = segjudge("check-truth", "badlad", path, "--json")
    assert code in outcome.json["totals"], outcome
    assert outcome.status == 3
