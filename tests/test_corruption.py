"""Damaged files: whatever happens to a valid file on its way, there is one object, a status, and no traceback."""

import gzip
import io
import tarfile
import zipfile
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Picture

from tests.reference import files
from tests.reference.scene import Image, Scene, Thing
from tests.running import segjudge

STATUSES = {0, 1, 2, 3}


def px(*numbers):
    return frozenset(numbers)


IMAGES = (Image("img_a", 4, 6, "one"), Image("0012", 3, 3, "one"), Image("3e5", 2, 5, "two"))
WAD = Scene(
    IMAGES,
    (
        Thing("img_a", 33, px(0, 1, 6, 7)),
        Thing("img_a", 36, px(3, 4, 5)),
        Thing("img_a", 33, px(18, 19, 20), ignored=True),
        Thing("0012", 33, px(4)),
    ),
    (
        Thing("img_a", 33, px(0, 1, 6, 7), "0.9"),
        Thing("img_a", 36, px(3, 4), "0.8"),
        Thing("0012", 33, px(4, 5), "0.7"),
        Thing("3e5", 40, px(0, 1), "0.25"),
    ),
)
CELLS = Scene(
    IMAGES,
    (Thing("img_a", 1, px(0, 1, 6, 7)), Thing("img_a", 1, px(22, 23)), Thing("0012", 1, px(4))),
    (Thing("img_a", 1, px(0, 1, 6)), Thing("img_a", 1, px(22, 23)), Thing("3e5", 1, px(9))),
)
PAGE = Scene(
    IMAGES[:2],
    (Thing("img_a", 0, px(0, 1, 6, 7)), Thing("img_a", 3, px(22, 23)), Thing("0012", 1, px(4))),
    (Thing("img_a", 0, px(0, 1, 6)), Thing("img_a", 3, px(22, 23)), Thing("0012", 2, px(4))),
)
FACES = Scene(
    IMAGES[:2], (Thing("img_a", 1, px(0, 1, 6, 7)), Thing("0012", 1, px(4))), (Thing("img_a", 1, px(0, 1)),)
)


def label_maps(scene, folder, *, wad):
    """A zip of one label map for each image."""
    target = folder / "maps.zip"
    with zipfile.ZipFile(target, "w") as archive:
        for image in scene.images:
            labels = np.zeros(image.height * image.width, np.uint16 if wad else np.uint8)
            for number, thing in enumerate(t for t in scene.truths if t.image == image.id):
                value = (161 if thing.ignored else thing.class_id * 1000 + number) if wad else number + 1
                labels[sorted(thing.pixels)] = value
            file = io.BytesIO()
            Picture.fromarray(labels.reshape(image.height, -1)).save(file, "PNG")
            archive.writestr(f"{image.id}.png", file.getvalue())
    return target


def unpacked(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def tar_of(members, mode):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return file.getvalue()


def zip_of(members, method=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def parquet_of(path):
    header, *rows = [line.split(",") for line in path.read_text().splitlines()]
    file = io.BytesIO()
    columns = {name: [row[place] for row in rows] for place, name in enumerate(header)}
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


@cache
def worlds():
    """Of every task and form: (task, name of the damaged side, its file name, its bytes, the other files)."""
    found = {}
    with TemporaryDirectory() as name:
        for task, write, scene in (
            ("wad-2018", files.write_wad, WAD),
            ("dsb-2018", files.write_dsb, CELLS),
            ("badlad", files.write_badlad, PAGE),
        ):
            folder = Path(name) / task
            folder.mkdir()
            written = write(scene, folder)
            truth, submission, images = (path.read_bytes() for path in written)
            rest = {
                "truth": ("t.csv", truth),
                "submission": ("s.csv", submission),
                "images": ("i.csv", images),
            }
            for form, file, content in (
                ("csv", "s.csv", submission),
                ("gzip", "s.csv.gz", gzip.compress(submission, mtime=0)),
                ("zip", "s.zip", zip_of({"s.csv": submission})),
                ("parquet", "s.parquet", parquet_of(written.submission)),
            ):
                found[f"{task} submission {form}"] = (
                    task,
                    rest | {"submission": (file, content)},
                    "submission",
                )
            found[f"{task} truth csv"] = (task, rest, "truth")
            found[f"{task} truth parquet"] = (
                task,
                rest | {"truth": ("t.parquet", parquet_of(written.truth))},
                "truth",
            )
            found[f"{task} images"] = (task, rest, "images")
            if task != "badlad":
                maps = label_maps(scene, folder, wad=task == "wad-2018")
                found[f"{task} truth maps"] = (task, rest | {"truth": ("m.zip", maps.read_bytes())}, "truth")
                stored = zip_of(unpacked(maps), zipfile.ZIP_STORED)
                found[f"{task} truth stored maps"] = (task, rest | {"truth": ("m.zip", stored)}, "truth")
                (image,) = [content for member, content in unpacked(maps).items() if member == "img_a.png"]
                found[f"{task} truth map"] = (task, rest | {"truth": ("maps/img_a.png", image)}, "truth")
        folder = Path(name) / "emoji"
        folder.mkdir()
        written = files.write_emoji(FACES, folder)
        members = unpacked(written.submission)
        truth = {path.relative_to(written.truth).as_posix(): path.read_bytes()
                 for path in written.truth.rglob("*") if path.is_file()}  # fmt: skip
        rest = {"truth": ("t.zip", zip_of(truth)), "images": ("i.csv", written.images.read_bytes())}
        for form, file, content in (
            ("zip", "s.zip", zip_of(members)),
            ("stored zip", "s.zip", zip_of(members, zipfile.ZIP_STORED)),
            ("tar", "s.tar", tar_of(members, "w")),
            ("tar.gz", "s.tar.gz", tar_of(members, "w:gz")),
            ("tar.xz", "s.tar.xz", tar_of(members, "w:xz")),
        ):
            found[f"emoji submission {form}"] = (
                "emoji",
                rest | {"submission": (file, content)},
                "submission",
            )
        whole = zip_of(members)
        found["emoji truth zip"] = ("emoji", rest | {"submission": ("s.zip", whole)}, "truth")
        for member in members:
            found[f"emoji submission folder, {member}"] = ("emoji", rest | {"submission": (f"s/{member}", members)},
                                                           "submission")  # fmt: skip
    return found


# --- damage -------------------------------------------------------------------------------------------------


BYTE_DAMAGE = ("flip", "bit", "cut", "double", "lose", "zero", "write", "shuffle", "head", "swap")
TEXT_DAMAGE = (
    "word",
    "word",
    "word",
    "swap",
    "glue",
    "repeat",
    "lose",
    "move",
    "mark",
    "end",
    "quote",
    "cut",
)


@st.composite
def damaged_bytes(draw, data):
    """Bytes flipped, cut, doubled, lost, moved or overwritten; a few times."""
    for _ in range(draw(st.integers(1, 3))):
        if not data:
            return data
        at = draw(st.integers(0, len(data) - 1))
        end = min(len(data), at + draw(st.integers(1, 24)))
        what = draw(st.sampled_from(BYTE_DAMAGE))
        if what == "flip":
            data = data[:at] + bytes([draw(st.integers(0, 255))]) + data[at + 1 :]
        elif what == "bit":
            data = data[:at] + bytes([data[at] ^ 1 << draw(st.integers(0, 7))]) + data[at + 1 :]
        elif what == "cut":
            data = data[:at]
        elif what == "head":
            data = data[at:]
        elif what == "double":
            data = data[:end] + data[at:]
        elif what == "lose":
            data = data[:at] + data[end:]
        elif what == "zero":
            data = data[:at] + bytes(end - at) + data[end:]
        elif what == "write":
            data = data[:at] + draw(st.binary(max_size=12)) + data[at:]
        elif what == "shuffle":
            data = data[:at] + bytes(draw(st.permutations(data[at:end]))) + data[end:]
        else:
            data = data[end:] + data[at:end] + data[:at]
    return data


WORDS = st.one_of(
    st.sampled_from(
        ["", "nan", "-", "0", "-1", "1 0", "[1, 3]", "1 3", "0 3|", "99999999999999999999", "1e5", "33", "img_a",
         "\t", '"', '""', "a,b", "\ufeff", "\x00", "\r", " ", "1 99", "None", "0.5", "½", "1" * 400, "=1+1", "_", "_1"]
    ),
    st.text(max_size=6),
)  # fmt: skip


@st.composite
def damaged_text(draw, data):
    """Fields swapped or replaced, lines glued, repeated, lost or moved, another separator or end of line."""
    text = data.decode()
    for _ in range(draw(st.integers(1, 3))):
        lines = text.split("\n")
        at = draw(st.integers(0, len(lines) - 1))
        fields = lines[at].split(",")
        field = draw(st.integers(0, len(fields) - 1))
        what = draw(st.sampled_from(TEXT_DAMAGE))
        if what == "word":
            fields[field] = draw(WORDS)
        elif what == "swap":
            other = draw(st.integers(0, len(fields) - 1))
            fields[field], fields[other] = fields[other], fields[field]
        elif what == "quote":
            fields[field] = f'"{fields[field]}{draw(st.sampled_from(["", chr(34)]))}'
        lines[at] = ",".join(fields)
        if what == "glue":
            lines[at : at + 2] = ["".join(lines[at : at + 2])]
        elif what == "repeat":
            lines[at:at] = [lines[at]] * draw(st.integers(1, 30))
        elif what == "lose":
            del lines[at]
        elif what == "move":
            lines.insert(draw(st.integers(0, len(lines))), lines.pop(at))
        text = "\n".join(lines)
        if what == "mark":
            text = text.replace(",", draw(st.sampled_from([";", "\t", "|", " ", ", "])))
        elif what == "end":
            text = text.replace("\n", draw(st.sampled_from(["\r", "\r\n", "\n\n", "\x85", "\x1e"])))
        elif what == "cut":
            text = text[: draw(st.integers(0, len(text)))]
    return text.encode(draw(st.sampled_from(["utf-8"] * 6 + ["utf-8-sig", "utf-16"])))


def put(folder, file, content):
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return folder / file.partition("/")[0]


def laid_out(world, folder, damage):
    """The files of a world, one of them damaged: words for the command line."""
    task, sides, broken = world
    paths = {}
    for side, (file, content) in sides.items():
        if isinstance(content, dict):  # a folder of which one file is damaged
            root, _, member = file.partition("/")
            for name, each in content.items():
                put(folder, f"{root}/{name}", damage(each) if name == member and side == broken else each)
            paths[side] = folder / root
        else:
            paths[side] = put(folder, file, damage(content) if side == broken else content)
    return task, paths


def judged(outcome, verb):
    """What every run must keep to."""
    assert outcome.status in STATUSES
    assert "fault of segjudge itself" not in outcome.err + outcome.out, outcome.err
    assert "Traceback" not in outcome.err + outcome.out
    found = outcome.json
    if "error" in found:
        assert set(found["error"]) == {"kind", "message", "advice"}
        assert found["error"]["message"]
        assert outcome.status in {2, 3}
        return found
    errors = [finding for finding in found["findings"] if finding["level"] == "error"]
    if verb == "score":
        assert outcome.status == (1 if errors else 0)
        assert not errors or found["score"] is None
    else:
        assert found["ok"] is not bool(errors)
        assert outcome.status == (0 if not errors else 3 if verb == "check-truth" else 1)
        assert sum(found["totals"].values()) >= len(found["findings"])
    for finding in found["findings"]:
        assert finding["code"]
        assert finding["message"]
    return found


def stands_up(world, damage, more=()):
    with TemporaryDirectory() as name:
        task, paths = laid_out(world, Path(name), damage)
        images = ["--images", paths["images"], "--json", "--workers", 1, *more]
        scored = judged(segjudge("score", task, paths["truth"], paths["submission"], *images), "score")
        truth = ["--truth", paths["truth"]]
        checked = judged(segjudge("check", task, paths["submission"], *truth, *images), "check")
        every = judged(segjudge("check", task, paths["submission"], *images, "--all"), "check")
        known = judged(segjudge("check-truth", task, paths["truth"], *images), "check-truth")
    if "error" not in scored and "error" not in checked:
        # The same checks come first in both; so do their findings.
        assert sorted(map(str, scored["findings"])) == sorted(map(str, checked["findings"]))
    if "error" in checked:
        assert "error" in scored
    if scored.get("error", {}).get("kind") == "truth":
        assert "error" in known or not known["ok"]
    if "error" not in known and not known["ok"]:
        assert "error" in scored or scored["score"] is None
    return scored, every


NAMES = sorted(worlds())
TEXTS = [name for name in NAMES if name.endswith(("csv", "images"))]
PACKED = [name for name in NAMES if name not in TEXTS and "parquet" not in name and "folder" not in name
          and not name.endswith("truth map")]  # fmt: skip


@cache
def untouched(name):
    scored, _ = stands_up(worlds()[name], lambda data: data)
    return scored["score"]


@pytest.mark.parametrize("name", NAMES)
def test_the_whole_file_is_fine(name):
    if name.endswith("truth map"):  # one image's map alone, of three
        return
    assert untouched(name) is not None


def draws(data, name, kind):
    return lambda content: data.draw(kind(content), label=name)


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from(NAMES))
def test_damaged_bytes(data, name):
    stands_up(worlds()[name], draws(data, name, damaged_bytes))


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from(TEXTS))
def test_damaged_text(data, name):
    stands_up(worlds()[name], draws(data, name, damaged_text))


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from(PACKED))
def test_what_a_checksum_guards_is_found_or_gives_the_same_score(data, name):
    """One byte changed within a packed file, whose contents are all under checksums."""
    at = data.draw(st.integers(0, 10_000))
    bit = data.draw(st.integers(0, 7))

    def damage(content):
        place = at % len(content)
        return content[:place] + bytes([content[place] ^ 1 << bit]) + content[place + 1 :]

    scored, _ = stands_up(worlds()[name], damage)
    # Names are under no checksum: a file that is called otherwise is another file.
    assert scored.get("score") in {None, untouched(name)} or "maps" in name


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from([name for name in NAMES if "submission csv" in name]))
def test_a_file_that_was_cut_is_found_or_ends_between_rows(data, name):
    """A cut inside a row is told, unless what is left of its last number is a number that fits."""
    world = worlds()[name]
    task, sides, _ = world
    content = sides["submission"][1]
    at = data.draw(st.integers(0, len(content) - 2))
    scored, _ = stands_up(world, lambda text: text[:at])
    if task == "wad-2018" and content[at - 1 : at] != b"\n" and content[at : at + 1] not in {b"\n", b"|"}:
        assert scored.get("score") is None or scored["findings"], content[:at]


SMALL = st.sampled_from(
    [["--set", "unsorted=warn"], ["--set", "missing=empty"], ["--set", "overlapping=allow"], []]
)


@settings(max_examples=40, deadline=None)
@given(st.data(), st.sampled_from([name for name in TEXTS if name.startswith("dsb")]), SMALL)
def test_damaged_text_under_other_settings(data, name, more):
    stands_up(worlds()[name], draws(data, name, damaged_text), more)


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from(TEXTS))
def test_blocks_of_a_few_bytes_find_the_same(data, name):
    content = {}

    def once(text):
        return content.setdefault("damaged", data.draw(damaged_text(text)))

    first = stands_up(worlds()[name], once)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("segjudge.formats.table.text._BLOCK", data.draw(st.sampled_from([16, 40, 100])))
        patch.setattr("segjudge.chunks._MOST_IMAGES", 1)
        second = stands_up(worlds()[name], once)
    for one, other in zip(first, second, strict=True):
        if "error" in one:
            assert one["error"]["kind"] == other["error"]["kind"]
        else:
            assert one.get("score") == other.get("score")
            assert sorted(map(str, one["findings"])) == sorted(map(str, other["findings"]))


@pytest.mark.slow
@settings(max_examples=5000, deadline=None)
@given(st.data(), st.sampled_from(NAMES))
def test_damaged_bytes_for_long(data, name):
    stands_up(worlds()[name], draws(data, name, damaged_bytes))


@pytest.mark.slow
@settings(max_examples=5000, deadline=None)
@given(st.data(), st.sampled_from(TEXTS))
def test_damaged_text_for_long(data, name):
    stands_up(worlds()[name], draws(data, name, damaged_text))


def test_files_are_read_where_the_system_can_only_seek(monkeypatch, tmp_path):
    import os

    from segjudge.formats.opening import ByteFile

    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(100)))
    for name in ("pread", "preadv"):
        monkeypatch.delattr(os, name, raising=False)
    file, buffer = ByteFile(path), bytearray(10)
    assert file.read(7, 50) == bytes(range(50, 57))
    assert file.read(7, 98) == bytes([98, 99])
    assert (file.read_into(memoryview(buffer), 95), bytes(buffer[:5])) == (5, bytes(range(95, 100)))
