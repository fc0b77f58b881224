"""A Parquet file as text: whole, group by group, joined or cell by cell, it is the same text."""

import decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segjudge.formats.copies import CopiedFile
from segjudge.formats.opening import ByteFile, Workspace
from segjudge.formats.table import row_groups
from segjudge.formats.table.row_groups import careful_text, joined_text, written

TEXTS = st.one_of(
    st.none(), st.text(max_size=8), st.sampled_from(["1 2|", "", "\x1f", "a\x1eb", "é", "\0", "1,2"])
)
BYTES = st.one_of(st.none(), TEXTS.map(lambda text: (text or "").encode()), st.binary(max_size=4))
COLUMNS = {
    "string": (TEXTS, pa.string()),
    "large string": (TEXTS, pa.large_string()),
    "binary": (BYTES, pa.binary()),
    "large binary": (BYTES, pa.large_binary()),
    "fixed": (st.none() | st.binary(min_size=2, max_size=2), pa.binary(2)),
    "dictionary": (TEXTS, pa.dictionary(pa.int32(), pa.string())),
    "int": (st.none() | st.integers(-(1 << 31), (1 << 31) - 1), pa.int32()),
    "float": (st.none() | st.floats(), pa.float64()),
    "narrow float": (st.none() | st.floats(width=32), pa.float32()),
    "bool": (st.none() | st.booleans(), pa.bool_()),
    "list": (st.none() | st.lists(st.integers(0, 9), max_size=3), pa.list_(pa.int64())),
    "decimal": (st.none() | st.integers(0, 99).map(decimal.Decimal), pa.decimal128(9, 2)),
    "null": (st.none(), pa.null()),
}


@st.composite
def batches(draw):
    """Some rows of columns of any type, perhaps cut out of more."""
    rows = draw(st.integers(1, 6))
    names = draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=4))
    arrays = []
    for name in names:
        values, kind = COLUMNS[name]
        arrays.append(pa.array(draw(st.lists(values, min_size=rows, max_size=rows)), kind))
    batch = pa.RecordBatch.from_arrays(arrays, [str(place) for place in range(len(names))])
    return batch.slice(draw(st.integers(0, rows - 1)))


@settings(max_examples=400, deadline=None)
@given(batches(), st.sampled_from([2, 99_998, 1 << 40]))
def test_joined_text_is_the_careful_one_or_none(batch, row):
    text = joined_text(batch, row)
    if text is not None:
        assert text == careful_text(batch, row)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_texts_that_are_no_utf8_are_left_to_the_careful_reader(kind):
    wide = pa.array([b"a", b"\x80\xff"], pa.large_binary() if kind == pa.large_string() else pa.binary())
    batch = pa.RecordBatch.from_arrays([pa.Array.from_buffers(kind, 2, wide.buffers())], ["a"])
    assert joined_text(batch, 2) is None
    assert joined_text(batch.slice(0, 1), 2) == careful_text(batch.slice(0, 1), 2) == b"2\x1fa\x1e"
    with pytest.raises(UnicodeDecodeError):
        careful_text(batch, 2)


def test_plain_columns_are_joined():
    batch = pa.RecordBatch.from_pydict({"a": ["x", None], "b": [1, 2], "c": [0.5, 1e-7], "d": [b"1 2|", b""]})
    assert joined_text(batch, 9) == b"9\x1fx\x1f1\x1f0.5\x1f1 2|\x1e10\x1f\x1f2\x1f1e-07\x1f\x1e"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.text("abc", max_size=5), st.text("0123 é", max_size=90)), min_size=1, max_size=40),
    st.integers(1, 15),
    st.data(),
)
def test_any_piece_of_the_text_is_read_from_its_row_groups(tmp_path_factory, rows, size, data):
    folder, workspace = tmp_path_factory.mktemp("groups"), Workspace()
    path = folder / "t.parquet"
    pq.write_table(
        pa.table(dict(zip("ab", map(list, zip(*rows, strict=True)), strict=True))), path, row_group_size=size
    )
    file = written(pq.ParquetFile(path), path, workspace.new_file(), workspace)
    assert isinstance(file, CopiedFile)
    whole = file.path.read_bytes()
    assert whole == careful_text(pq.read_table(path).combine_chunks().to_batches()[0], 2)
    for _ in range(5):
        offset, count = (data.draw(st.integers(0, len(whole) + 9)) for _ in range(2))
        assert file.original.read(count, offset) == whole[offset : offset + count]


def test_the_groups_used_last_are_kept(tmp_path, monkeypatch):
    path, workspace, read = tmp_path / "t.parquet", Workspace(), []
    pq.write_table(pa.table({"a": ["x" * 100] * 12}), path, row_group_size=2)
    original = written(pq.ParquetFile(path), path, workspace.new_file(), workspace).original
    texts = row_groups._texts
    monkeypatch.setattr(
        row_groups, "_texts", lambda file, group, row: read.append(group) or texts(file, group, row)
    )
    monkeypatch.setattr(row_groups, "_kept", row_groups._Kept())
    monkeypatch.setattr(row_groups, "_KEPT", 500)
    for offset in (0, 10, 210, 20, 420, 640, 0):
        original.read(5, offset)
    assert read == [0, 1, 2, 3, 0]


def test_a_file_that_was_unpacked_has_no_original(tmp_path):
    workspace = Workspace()
    path = workspace.new_file()
    pq.write_table(pa.table({"a": ["x"]}), path)
    file = written(pq.ParquetFile(path), path, workspace.new_file(), workspace)
    assert type(file) is ByteFile
