"""CSV to Parquet and back: the same cells, sorted by image, scored to the same bits; or no file at all."""

import csv
import gzip
import io
import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import segjudge as sj
from segjudge.formats.table import converting
from segjudge.formats.table.converting import convert_table
from tests.running import segjudge

TASKS = ("wad-2018", "badlad", "dsb-2018")
HEADERS = {
    "wad-2018": ["ImageId", "LabelId", "Confidence", "PixelCount", "EncodedPixels"],
    "badlad": ["Id", "Predicted"],
    "dsb-2018": ["ImageId", "EncodedPixels"],
}
CELLS = {
    "wad-2018": lambda image: [image, "33", "0.25", "3", "1 2|5 1|"],
    "badlad": lambda image: [f"{image}_0", "1 2"],
    "dsb-2018": lambda image: [image, "1 2 5 1"],
}


def save(path, rows, **options):
    text = io.StringIO()
    csv.writer(text, **{"lineterminator": "\n", **options}).writerows(rows)
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    return path


def cells(path):
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        return [table.column_names, *(list(map(str, row.values())) for row in table.to_pylist())]
    return list(csv.reader(path.read_text(encoding="utf-8").splitlines()))


def table(task_id, *images):
    return [HEADERS[task_id], *(CELLS[task_id](image) for image in images)]


# ------------------------------------------------------------------------------------------ both ways


@pytest.mark.parametrize("task_id", TASKS)
def test_rows_come_out_sorted_by_image_and_come_back(task_id, tmp_path):
    rows = table(task_id, "b", "0012", "12", "3e5", "a")
    source = save(tmp_path / "in.csv", rows)
    packed, again = tmp_path / "packed.parquet", tmp_path / "again.csv"
    outcome = segjudge("convert", task_id, source, packed, "--json")
    assert (outcome.status, outcome.json["rows"]) == (0, 5), outcome
    wanted = table(task_id, "0012", "12", "3e5", "a", "b")
    assert cells(packed) == wanted
    assert segjudge("convert", task_id, packed, again).status == 0
    assert cells(again) == wanted


def test_rows_of_one_image_keep_their_order(tmp_path):
    rows = [HEADERS["dsb-2018"], ["b", "9 1"], ["a", "7 1"], ["b", "1 1"], ["a", "3 1"], ["b", "5 1"]]
    convert_table(sj.load_task("dsb-2018"), save(tmp_path / "i.csv", rows), tmp_path / "o.csv")
    assert cells(tmp_path / "o.csv")[1:] == [
        ["a", "7 1"],
        ["a", "3 1"],
        ["b", "9 1"],
        ["b", "1 1"],
        ["b", "5 1"],
    ]


@pytest.mark.parametrize("image", ["a,b", 'say "a"', "é", " a ", "日本", "a;b\tc", "=1+1"], ids=ascii)
def test_quoted_and_foreign_ids_survive(image, tmp_path):
    source = save(tmp_path / "i.csv", table("dsb-2018", image, "z"), quoting=csv.QUOTE_ALL)
    task = sj.load_task("dsb-2018")
    convert_table(task, source, tmp_path / "o.parquet")
    convert_table(task, tmp_path / "o.parquet", tmp_path / "o.csv")
    for path in (tmp_path / "o.parquet", tmp_path / "o.csv"):
        assert sorted(row[0] for row in cells(path)[1:]) == sorted([image, "z"])


IDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1, max_size=6)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(IDS, st.sampled_from(["1 1", "1 1 3 2", ""])), max_size=8))
def test_no_text_is_changed_by_going_and_coming(rows):
    with TemporaryDirectory() as name:
        folder, task = Path(name), sj.load_task("dsb-2018")
        source = save(folder / "i.csv", [HEADERS["dsb-2018"], *rows])
        assert convert_table(task, source, folder / "o.parquet") == len(rows)
        assert convert_table(task, folder / "o.parquet", folder / "o.csv") == len(rows)
        kept = [[*row] for row in sorted(rows, key=lambda row: row[0])]
        assert pq.read_table(folder / "o.parquet").to_pylist() == [
            dict(zip(HEADERS["dsb-2018"], row, strict=True)) for row in kept
        ]
        text = io.StringIO((folder / "o.csv").read_bytes().decode(), newline="")
        assert list(csv.reader(text))[1:] == kept


def test_a_mark_of_byte_order_and_windows_lines_are_no_part_of_the_cells(tmp_path):
    text = "\ufeffImageId,EncodedPixels\r\nb,1 2\r\na,\r\n\r\n"
    (tmp_path / "i.csv").write_bytes(text.encode())
    convert_table(sj.load_task("dsb-2018"), tmp_path / "i.csv", tmp_path / "o.csv")
    assert (tmp_path / "o.csv").read_bytes() == b"ImageId,EncodedPixels\na,\nb,1 2\n"


def test_gzip_goes_in_and_out(tmp_path):
    source = save(tmp_path / "i.csv", table("dsb-2018", "b", "a"))
    (tmp_path / "i.csv.gz").write_bytes(gzip.compress(source.read_bytes()))
    task = sj.load_task("dsb-2018")
    convert_table(task, tmp_path / "i.csv.gz", tmp_path / "o.csv.gz")
    convert_table(task, tmp_path / "i.csv.gz", tmp_path / "o.csv")
    assert gzip.decompress((tmp_path / "o.csv.gz").read_bytes()) == (tmp_path / "o.csv").read_bytes()
    assert cells(tmp_path / "o.csv") == table("dsb-2018", "a", "b")


def test_standard_input_is_a_source(tmp_path):
    source = save(tmp_path / "i.csv", table("dsb-2018", "b", "a"))
    outcome = segjudge("convert", "dsb-2018", "-", tmp_path / "o.csv", stdin=source.read_bytes())
    assert outcome.status == 0, outcome
    assert cells(tmp_path / "o.csv") == table("dsb-2018", "a", "b")


def test_a_file_may_be_sorted_in_place(tmp_path):
    path = save(tmp_path / "s.csv", table("dsb-2018", "b", "a"))
    assert segjudge("convert", "dsb-2018", path, path).status == 0
    assert cells(path) == table("dsb-2018", "a", "b")


def test_a_table_without_rows_stays_one(tmp_path):
    source = save(tmp_path / "i.csv", table("wad-2018"))
    task = sj.load_task("wad-2018")
    assert convert_table(task, source, tmp_path / "o.parquet") == 0
    assert convert_table(task, tmp_path / "o.parquet", tmp_path / "o.csv") == 0
    assert cells(tmp_path / "o.csv") == [HEADERS["wad-2018"]]


def test_a_truth_with_sizes_is_a_table_too(tmp_path):
    rows = [["ImageId", "LabelId", "EncodedPixels", "Height", "Width"], ["b", "", "", "3", "4"]]
    rows.append(["a", "33", "1 2|", "3", "4"])
    source = save(tmp_path / "i.csv", rows)
    task = sj.load_task("wad-2018")
    convert_table(task, source, tmp_path / "o.parquet")
    assert pq.read_table(tmp_path / "o.parquet").to_pylist()[1] == {
        "ImageId": "b",
        "LabelId": None,
        "EncodedPixels": "",
        "Height": 3,
        "Width": 4,
    }
    convert_table(task, tmp_path / "o.parquet", tmp_path / "o.csv")
    assert cells(tmp_path / "o.csv") == [rows[0], rows[2], rows[1]]


def test_parquet_of_many_row_groups_and_whole_numbers_as_ids_is_read(tmp_path):
    ids = list(range(500, 0, -1))
    pq.write_table(
        pa.table({"ImageId": pa.array(ids), "EncodedPixels": pa.array([b"1 2"] * 500)}),
        tmp_path / "i.parquet",
        row_group_size=7,
    )
    assert convert_table(sj.load_task("dsb-2018"), tmp_path / "i.parquet", tmp_path / "o.csv") == 500
    assert cells(tmp_path / "o.csv")[1:] == [[image, "1 2"] for image in sorted(map(str, ids))]


def test_large_tables_are_written_in_several_row_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(converting, "_BATCH", 200)
    rows = table("wad-2018", *(f"img_{number:03}" for number in range(100)))
    task = sj.load_task("wad-2018")
    convert_table(task, save(tmp_path / "i.csv", rows), tmp_path / "o.parquet")
    assert pq.ParquetFile(tmp_path / "o.parquet").num_row_groups > 5
    assert cells(tmp_path / "o.parquet") == rows


def test_memory_does_not_grow_with_the_length_of_the_cells(tmp_path, monkeypatch):
    monkeypatch.setattr(converting, "_BATCH", 1 << 20)
    cell = " ".join(f"{number} 1" for number in range(1, 40_000, 2))
    source = save(tmp_path / "i.csv", [HEADERS["dsb-2018"], *([f"{n % 7}", cell] for n in range(300))])
    assert source.stat().st_size > 40 << 20
    tracemalloc.start()
    try:
        convert_table(sj.load_task("dsb-2018"), source, tmp_path / "o.csv")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < source.stat().st_size // 2


# ------------------------------------------------------------------------------------------------ scores


def scene(folder, rng):
    """A truth of WAD and a submission whose confidences have every digit a double can have."""
    task = sj.load_task("wad-2018")
    truth, rows = [["ImageId", "LabelId", "EncodedPixels"]], []
    for image in ("b", "0012", "a", "12"):
        for place in range(6):
            start, length = place * 100, int(rng.integers(5, 60))
            truth.append([image, str(rng.choice([33, 36])), f"{start} {length}|"])
            moved = start + int(rng.integers(0, 4))
            rows.append([image, truth[-1][1], repr(float(rng.random())), str(length), f"{moved} {length}|"])
    rng.shuffle(rows)
    return task, save(folder / "truth.csv", truth), save(folder / "s.csv", [HEADERS["wad-2018"], *rows])


@pytest.mark.parametrize("seed", range(5))
def test_a_score_from_parquet_has_the_same_bits(seed, tmp_path):
    task, truth, source = scene(tmp_path, np.random.default_rng(seed))
    convert_table(task, source, tmp_path / "s.parquet")
    convert_table(task, tmp_path / "s.parquet", tmp_path / "again.csv")
    convert_table(task, truth, tmp_path / "truth.parquet")
    results = [
        sj.score(
            task, sj.read_truth(task, known), sj.read_submission(task, given_file), by=["class", "image"]
        )
        for known, given_file in (
            (truth, source),
            (truth, tmp_path / "s.parquet"),
            (truth, tmp_path / "again.csv"),
            (tmp_path / "truth.parquet", tmp_path / "s.parquet"),
        )
    ]
    assert (
        len(
            {(result.score, str(result.by_class), str(sorted(result.by_image.items()))) for result in results}
        )
        == 1
    )
    assert 0 < results[0].score < 1


@pytest.mark.parametrize("text", ["0.50", "5e-1", "1", "0", ".5", "5.", "1e-300", "0.1000000000000000055"])
def test_a_confidence_stays_the_same_number(text, tmp_path):
    source = save(tmp_path / "i.csv", [HEADERS["wad-2018"], ["a", "33", text, "3", "1 3|"]])
    task = sj.load_task("wad-2018")
    convert_table(task, source, tmp_path / "o.parquet")
    convert_table(task, tmp_path / "o.parquet", tmp_path / "o.csv")
    assert float(cells(tmp_path / "o.csv")[1][2]) == float(text)


# ---------------------------------------------------------------------------------------------- refusals


def refused(task_id, source, target):
    target.write_bytes(b"as it was")
    before = sorted(target.parent.iterdir())
    outcome = segjudge("convert", task_id, source, target, "--json")
    assert outcome.status == 1, outcome
    assert target.read_bytes() == b"as it was"
    assert sorted(target.parent.iterdir()) == before
    return outcome.json


@pytest.mark.parametrize(
    ("column", "text"),
    [
        (1, "car"), (1, "33.0"), (1, "+33"), (1, "9" * 19), (2, "high"), (2, "1_0"), (2, "nan"), (2, "inf"),
        (2, "1e999"), (2, "0x1"), (2, "٣"), (3, "many"), (3, "-3"),
    ],
)  # fmt: skip
def test_parquet_is_refused_where_a_number_is_none(column, text, tmp_path):
    rows = table("wad-2018", "b", "a")
    rows[2][column] = text
    found = refused("wad-2018", save(tmp_path / "i.csv", rows), tmp_path / "o.parquet")
    assert found["totals"] == {"bad-type": 1}
    assert found["findings"][0]["where"]["row"] == 3


def test_every_number_that_is_none_is_told(tmp_path):
    rows = table("wad-2018", *(f"a{number}" for number in range(30)))
    for row in rows[1:]:
        row[2] = "?"
    found = refused("wad-2018", save(tmp_path / "i.csv", rows), tmp_path / "o.parquet")
    assert found["totals"] == {"bad-type": 30}


def test_a_table_of_something_else_is_refused(tmp_path):
    source = save(tmp_path / "i.csv", [["Name", "Mask"], ["a", "1 2"]])
    assert refused("dsb-2018", source, tmp_path / "o.csv")["totals"] == {"bad-header": 1}


def test_rows_with_more_or_fewer_fields_are_refused(tmp_path):
    source = save(tmp_path / "i.csv", [*table("dsb-2018", "a"), ["b"], ["c", "1 2", "3"]])
    found = refused("dsb-2018", source, tmp_path / "o.csv")
    assert found["totals"] == {"bad-field-count": 2}
    assert [finding["where"]["row"] for finding in found["findings"]] == [3, 4]


def test_other_encodings_are_refused(tmp_path):
    (tmp_path / "i.csv").write_bytes("ImageId,EncodedPixels\na,1 2\n".encode("utf-16"))
    assert refused("dsb-2018", tmp_path / "i.csv", tmp_path / "o.csv")["totals"] == {"not-utf8": 1}


def test_floating_point_ids_are_refused(tmp_path):
    pq.write_table(pa.table({"ImageId": [12.0], "EncodedPixels": ["1 2"]}), tmp_path / "i.parquet")
    assert refused("dsb-2018", tmp_path / "i.parquet", tmp_path / "o.csv")["totals"] == {"bad-type": 1}


def test_ctrl_c_leaves_no_file(tmp_path):
    source = save(tmp_path / "i.csv", table("dsb-2018", "a"))

    def interrupt(_done, _total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convert_table(sj.load_task("dsb-2018"), source, tmp_path / "o.parquet", progress=interrupt)
    assert list(tmp_path.iterdir()) == [source]


@pytest.mark.parametrize("name", ["none/o.csv", "."])
def test_a_target_that_cannot_be_is_told(name, tmp_path):
    source = save(tmp_path / "i.csv", table("dsb-2018", "a"))
    assert segjudge("convert", "dsb-2018", source, tmp_path / name).status == 2
    assert list(tmp_path.iterdir()) == [source]
