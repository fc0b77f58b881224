"""Archives made to harm or to confuse: a reader's memory and disk stay bounded, and nothing gets lost."""

import io
import struct
import tarfile
import tempfile
import tracemalloc
import zipfile

import pytest

from segjudge.formats.archive import MAX_MEMBERS
from tests.test_archive import FORMS, contents, fault_of, make_tar, make_zip, opened, refusal


def renamed(path, old, new, *, flags=None):
    """A zip in which a name of the same length stands instead, with other flags."""
    data = bytearray(path.read_bytes().replace(old, new))
    for signature, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        at = data.find(signature)
        if flags is not None:
            data[at + offset : at + offset + 2] = struct.pack("<H", flags)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("stored", "flags", "name"),
    [
        ("é.png".encode(), 0, "é.png"),  # macOS: UTF-8 that is not announced
        ("é.png".encode(), 0x800, "é.png"),
        (b"\x82A.png", 0, "éA.png"),  # DOS: code page 437
    ],
)
def test_names_are_read_in_every_encoding_that_zips_have(stored, flags, name, tmp_path):
    path = make_zip(tmp_path / "a.zip", {"x" * len(stored): b"1"})
    assert contents(renamed(path, b"x" * len(stored), stored, flags=flags)) == {name: b"1"}


def test_a_name_that_is_not_the_utf_8_it_claims_to_be_is_refused(tmp_path):
    path = renamed(make_zip(tmp_path / "a.zip", {"xyz.png": b"1"}), b"xyz", b"\x82yz", flags=0x800)
    assert refusal(path)[0] == "bad-archive"


def test_a_zero_byte_hides_no_part_of_a_zips_name(tmp_path):
    path = renamed(make_zip(tmp_path / "a.zip", {"a.png#../b": b"1"}), b"#", b"\0")
    assert refusal(path)[0] == "unsafe-path"


@pytest.mark.parametrize("form", ["zip", "tar", "tar gnu", "tar gz"])
def test_names_of_thousands_of_folders_are_only_names(form, tmp_path):
    members = {"d/" * 15_000 + "a.png": b"1", "b.png": b"2"}
    assert contents(FORMS[form](tmp_path / "a", members)) == members
    code, findings = refusal(FORMS[form](tmp_path / "b", {"../" * 15_000 + "a.png": b"1"}))
    assert code == "unsafe-path"
    assert len(findings[0].message) < 300


def directory_of(lines, line):
    """A zip that is all directory: so many equal lines and no member behind them."""
    size = len(line) * lines
    start = b"PK\3\4" + bytes(26)
    record = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, lines, lines, size, len(start))
    place = struct.pack("<4sLQL", b"PK\6\7", 0, len(start) + size, 1)
    end = b"PK\5\6" + struct.pack("<4H2LH", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    return start + line * lines + record + place + end


def test_a_directory_of_too_many_lines_is_refused_before_it_takes_memory(tmp_path):
    (tmp_path / "a.zip").write_bytes(directory_of(MAX_MEMBERS + 1, b"PK\1\2" + bytes(42)))
    tracemalloc.start()
    try:
        assert refusal(tmp_path / "a.zip")[0] == "too-large-unpacked"
        assert (
            tracemalloc.get_traced_memory()[1] < 3 * 46 * MAX_MEMBERS
        )  # the directory itself, and no objects
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("claimed", [1 << 40, 1 << 62, (1 << 64) - 1])
def test_a_directory_that_claims_to_be_huge_takes_no_memory(claimed, tmp_path):
    data = bytearray(directory_of(3, b"PK\1\2" + bytes(42)))
    struct.pack_into("<Q", data, data.find(b"PK\6\6") + 40, claimed)
    (tmp_path / "a.zip").write_bytes(data)
    assert refusal(tmp_path / "a.zip")[0] in {"bad-archive", "too-large-unpacked"}


def test_a_hundred_thousand_members_are_one_tree(tmp_path):
    members = {f"predictions/test_{number}_mask.png": b"" for number in range(100_000)}
    tree, _ = opened(make_zip(tmp_path / "a.zip", members))
    with tree:
        assert len(tree.names) == 100_000
        assert all(name in tree for name in ("test_0_mask.png", "test_99999_mask.png"))


@pytest.mark.parametrize("pack", ["gz", "bz2", "xz"])
def test_a_packed_tar_that_unpacks_to_too_much_stops_at_the_bound_on_disk(pack, tmp_path, monkeypatch):
    path = make_tar(tmp_path / "a", {"zeros": bytes(60_000_000)}, f"w:{pack}")
    assert path.stat().st_size < 100_000
    written = []

    class Counted(io.BytesIO):
        def write(self, data):
            written.append(len(data))
            return super().write(data)

    monkeypatch.setattr(tempfile, "TemporaryFile", Counted)
    assert refusal(path, max_unpacked=5_000_000)[0] == "too-large-unpacked"
    assert 0 < sum(written) <= 5_000_000


@pytest.mark.parametrize("key", ["path", "comment"])
def test_headers_without_members_do_not_pile_up(key, tmp_path):
    """Every global header is nearly a megabyte; of a keyword that counts only the last one stays."""
    with (tmp_path / "a.tar").open("wb") as file:
        for number in range(100):
            name = key if key == "path" else f"{key}{number}"
            rest = f" {name}={'v' * 1_000_000}\n"
            note = f"{len(rest) + 7}{rest}".encode()
            info = tarfile.TarInfo("g")
            info.type, info.size = tarfile.XGLTYPE, len(note)
            file.write(info.tobuf(tarfile.USTAR_FORMAT) + note + bytes(-len(note) % 512))
        file.write(bytes(1024))
    tracemalloc.start()
    try:
        assert contents(tmp_path / "a.tar") == {}
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_a_damaged_header_amid_a_tar_is_a_fault_and_not_its_end(tmp_path):
    path = make_tar(tmp_path / "a.tar", {"a": b"1", "b": b"2", "c": b"3"})
    data = bytearray(path.read_bytes())
    data[2 * 512] ^= 1
    path.write_bytes(data)
    assert refusal(path)[0] == "bad-archive"


def test_a_tar_whose_sizes_run_backwards_ends_in_a_fault(tmp_path):
    for size in (b"\xff" * 12, b"\x80" + b"\xff" * 11):
        info = tarfile.TarInfo("a")
        block = bytearray(info.tobuf(tarfile.GNU_FORMAT))
        block[124:136] = size
        block[148:156] = b" " * 8
        block[148:156] = b"%06o\0 " % sum(block)
        (tmp_path / "a.tar").write_bytes(bytes(block) * 3 + bytes(1024))
        assert refusal(tmp_path / "a.tar")[0] == "bad-archive"


@pytest.mark.parametrize("form", ["zip", "zip stored", "tar", "tar gz", "tar bz2", "tar xz"])
def test_a_download_that_stopped_is_refused_wherever_it_stopped(form, tmp_path):
    """Except amid the zeros that end a tar, where nothing is missing."""
    members = {"a.png": b"1" * 700, "b/c.png": bytes(range(256)) * 4}
    whole = FORMS[form](tmp_path / "whole", members).read_bytes()
    end = len(whole.rstrip(b"\0")) if form == "tar" else len(whole)
    for cut in sorted({*range(1, end, 37), *range(512, end, 512), end - 1}):
        (tmp_path / "a").write_bytes(whole[:cut])
        tree, _ = opened(tmp_path / "a")
        assert tree is None, cut


def test_a_zip_that_is_zipped_again_is_a_member_and_not_an_archive(tmp_path):
    inner = make_zip(tmp_path / "inner.zip", {f"{number}": b"1" for number in range(50)})
    members = {"inner.zip": inner.read_bytes(), "b": b"2"}
    assert contents(make_zip(tmp_path / "a.zip", members, zipfile.ZIP_STORED)) == members


def test_a_member_longer_than_a_file_of_its_kind_can_be_stops_there(tmp_path):
    path = make_zip(tmp_path / "a.zip", {"zeros": bytes(50_000_000)})
    tree, _ = opened(path)
    with tree:
        tracemalloc.start()
        try:
            assert fault_of(tree.read, "zeros", limit=1000).code == "too-large-unpacked"
            assert tracemalloc.get_traced_memory()[1] < 10_000_000
        finally:
            tracemalloc.stop()
