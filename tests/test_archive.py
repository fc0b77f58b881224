"""Folders and archives as one tree: the same members from every form, and nothing but faults from lies."""

import bz2
import gzip
import io
import lzma
import os
import pickle
import struct
import tarfile
import zipfile
import zlib
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from segjudge.errors import UsageError
from segjudge.findings import Collector
from segjudge.formats.archive import MemberFault, digest, find_members, open_tree, resolve
from segjudge.formats.archive import members as archive_members

MEMBERS = {
    "submission.csv": b"SampleID,PredictedMask\ntest_0,predictions/test_0.png\n",
    "predictions/test_0.png": bytes(range(256)) * 30,
    "predictions/empty.png": b"",
}
LARGE = 1 << 30


def make_zip(path, members, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


def make_tar(path, members, mode="w", **how):
    with tarfile.open(path, mode, **how) as file:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            file.addfile(info, io.BytesIO(content))
    return path


def make_folder(path, members):
    for name, content in members.items():
        place = path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    return path


FORMS = {
    "folder": make_folder,
    "zip": make_zip,
    "zip stored": lambda path, members: make_zip(path, members, zipfile.ZIP_STORED),
    "zip bzip2": lambda path, members: make_zip(path, members, zipfile.ZIP_BZIP2),
    "zip lzma": lambda path, members: make_zip(path, members, zipfile.ZIP_LZMA),
    "tar": make_tar,
    "tar gnu": lambda path, members: make_tar(path, members, format=tarfile.GNU_FORMAT),
    "tar ustar": lambda path, members: make_tar(path, members, format=tarfile.USTAR_FORMAT),
    "tar gz": lambda path, members: make_tar(path, members, "w:gz"),
    "tar xz": lambda path, members: make_tar(path, members, "w:xz"),
    "tar bz2": lambda path, members: make_tar(path, members, "w:bz2"),
}
ARCHIVES = [name for name in FORMS if name != "folder"]
every_form = pytest.mark.parametrize("form", FORMS)


def opened(path, *, max_unpacked=LARGE, **how):
    findings = Collector()
    tree = open_tree(path, findings, max_unpacked=max_unpacked, file_label="sub", **how)
    assert (tree is None) == (findings.errors > 0)
    return tree, findings.diagnosis()


def contents(path, **how):
    tree, diagnosis = opened(path, **how)
    assert not diagnosis.findings, str(diagnosis)
    with tree:
        return {name: tree.read(name) for name in tree.names}


def refusal(path, **how):
    """The one code that refuses an archive."""
    tree, diagnosis = opened(path, **how)
    assert tree is None
    (code,) = diagnosis.codes()
    return code, diagnosis.findings


def fault_of(call, *arguments, **named):
    with pytest.raises(MemberFault) as caught:
        call(*arguments, **named)
    assert caught.value.message
    return caught.value


@every_form
def test_every_form_holds_the_same_members(form, tmp_path):
    path = FORMS[form](tmp_path / "any_name", MEMBERS)
    assert contents(path) == MEMBERS
    tree, _ = opened(path)
    with tree:
        assert tree.names == tuple(sorted(MEMBERS))
        assert tree.size("predictions/test_0.png") == 7680
        assert tree.head("predictions/test_0.png", 300) == (bytes(range(256)) * 2)[:300]
        assert tree.head("predictions/empty.png", 300) == b""
        assert tree.top == ""


@every_form
def test_one_common_top_folder_is_taken_off(form, tmp_path):
    nested = {f"my work/{name}": content for name, content in MEMBERS.items()}
    nested |= {"__MACOSX/my work/._submission.csv": b"x", "my work/.DS_Store": b"x", "Thumbs.db": b"x"}
    nested |= {"my work/predictions/._test_0.png": b"x", "my work/desktop.ini": b"x"}
    path = FORMS[form](tmp_path / "a", nested)
    assert contents(path) == MEMBERS
    tree, _ = opened(path)
    with tree:
        assert tree.top == "my work/"
        assert resolve(tree, "", "my work/predictions/test_0.png") == "predictions/test_0.png"
    kept, _ = opened(path, strip_top=False)
    with kept:
        assert "my work/submission.csv" in kept


def test_two_top_folders_stay(tmp_path):
    members = {"a/submission.csv": b"1", "b/submission.csv": b"2", "b/x_submission.csv": b""}
    tree, _ = opened(make_zip(tmp_path / "a.zip", members))
    with tree:
        assert find_members(tree, "submission.csv") == ("a/submission.csv", "b/submission.csv")


@pytest.mark.parametrize("form", ARCHIVES)
def test_backslashes_dots_and_decomposed_letters_are_the_same_names(form, tmp_path):
    members = {".\\masks\\e\u0301.png": b"1", "./a/./b.png": b"2", "c//d.png": b"3"}
    expected = {"masks/\xe9.png": b"1", "a/b.png": b"2", "c/d.png": b"3"}
    path = FORMS[form](tmp_path / "a", members)
    assert contents(path) == expected
    tree, _ = opened(path)
    with tree:
        assert resolve(tree, "", "masks/e\u0301.png") == "masks/\xe9.png"
        assert find_members(tree, "e\u0301.png") == ("masks/\xe9.png",)


@pytest.mark.parametrize("form", ARCHIVES)
@pytest.mark.parametrize(
    "name",
    [
        "../../evil.png",
        "/evil.png",
        "a/../../evil.png",
        "C:/evil.png",
        "c:evil.png",
        "\\\\host\\evil",
        "a\\..\\b",
    ],
)
def test_names_that_lead_out_are_unsafe(form, name, tmp_path):
    code, findings = refusal(FORMS[form](tmp_path / "a", MEMBERS | {name: b"x"}))
    assert code == "unsafe-path"
    assert findings[0].where.member == name.lstrip("/") or findings[0].where.member == name
    assert list(tmp_path.iterdir()) == [tmp_path / "a"]


def test_links_in_archives_are_unsafe(tmp_path):
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE):
        with tarfile.open(tmp_path / "a.tar", "w") as file:
            info = tarfile.TarInfo("answers")
            info.type, info.linkname = kind, "/etc/passwd"
            file.addfile(info)
        assert refusal(tmp_path / "a.tar")[0] == "unsafe-path"
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        info = zipfile.ZipInfo("answers")
        info.external_attr = 0o120777 << 16
        file.writestr(info, "/etc/passwd")
    assert refusal(tmp_path / "a.zip")[0] == "unsafe-path"


@pytest.mark.parametrize("name", ["link.csv", "folder", "__MACOSX"])
def test_links_in_folders_are_refused_and_never_followed(name, tmp_path):
    outside = make_folder(tmp_path / "outside", {"secret.csv": b"1"})
    inside = make_folder(tmp_path / "inside", MEMBERS)
    (inside / name).symlink_to(outside / "secret.csv" if name.endswith("csv") else outside)
    code, findings = refusal(inside)
    assert code == "unsafe-path"
    assert [finding.where.member for finding in findings] == [name]


def test_a_link_that_appears_after_the_listing_is_not_followed(tmp_path):
    inside = make_folder(tmp_path / "inside", MEMBERS)
    tree, _ = opened(inside)
    (tmp_path / "secret").write_bytes(b"x" * len(MEMBERS["submission.csv"]))
    (inside / "submission.csv").unlink()
    (inside / "submission.csv").symlink_to(tmp_path / "secret")
    assert fault_of(tree.read, "submission.csv").code == "bad-archive"


def test_a_pipe_in_a_folder_is_refused(tmp_path):
    inside = make_folder(tmp_path / "inside", MEMBERS)
    os.mkfifo(inside / "pipe")
    assert refusal(inside)[0] == "unsafe-path"


@pytest.mark.parametrize("form", ["zip", "tar"])
def test_two_members_of_one_name_are_ambiguous(form, tmp_path):
    code, findings = refusal(
        FORMS[form](tmp_path / "a", {"x/\xe9.png": b"1", "x/e\u0301.png": b"2", "b": b""})
    )
    assert code == "ambiguous-submission"
    assert len(findings) == 1
    assert len(contents(FORMS[form](tmp_path / "b", {"x/a.png": b"1", "x/A.png": b"2", "b": b""}))) == 3


def test_paths_count_from_the_root_and_then_from_the_csv(tmp_path):
    members = {
        "a.png": b"",
        "sub/a.png": b"",
        "sub/b.png": b"",
        "sub/submission.csv": b"",
        "other/C.png": b"",
    }
    tree, _ = opened(make_zip(tmp_path / "a.zip", members))
    with tree:
        assert resolve(tree, "sub", "a.png") == "a.png"
        assert resolve(tree, "sub", ".\\b.png") == "sub/b.png"
        assert fault_of(resolve, tree, "", "b.png").code == "missing-file"
        assert "sub/b.png" in fault_of(resolve, tree, "", "b.png").advice
        assert "other/C.png" in fault_of(resolve, tree, "sub", "other/c.PNG").advice
        for written in ("../a.png", "/etc/passwd", "C:\\a.png", "sub/../../x"):
            assert fault_of(resolve, tree, "sub", written).code == "unsafe-path"
        assert fault_of(resolve, tree, "sub", "").code == "missing-file"


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "empty"),
        (b"SampleID,PredictedMask\n", "neither"),
        (b"7z\xbc\xaf\x27\x1c" + bytes(30), "7z"),
        (b"Rar!\x1a\x07\x01\0" + bytes(30), "RAR"),
        (b"\x28\xb5\x2f\xfd" + bytes(30), "Zstandard"),
        (gzip.compress(b"SampleID,PredictedMask\n"), "packed file"),
        (gzip.compress(b""), "packed file"),
        (gzip.compress(b"SampleID,PredictedMask\n")[:-9], "cut off"),
        (b"PK\3\4" + bytes(40), "cut off"),
        (bytes(1024), "neither"),
    ],
)
def test_what_is_no_archive_is_called_by_its_name(content, word, tmp_path):
    (tmp_path / "a.zip").write_bytes(content)
    code, findings = refusal(tmp_path / "a.zip")
    assert code == "bad-archive"
    assert word in findings[0].message
    assert findings[0].advice


def test_a_path_without_a_file_is_the_callers_mistake(tmp_path):
    with pytest.raises(UsageError, match="no file"):
        opened(tmp_path / "nothing.zip")


def test_an_empty_zip_has_no_members(tmp_path):
    assert contents(make_zip(tmp_path / "a.zip", {})) == {}


def patched(path, *, local, central):
    """A zip whose members' headers are changed at some offsets: `{offset: bytes}`."""
    data = bytearray(path.read_bytes())
    for signature, changes in ((b"PK\3\4", local), (b"PK\1\2", central)):
        at = data.find(signature)
        while at >= 0:
            for offset, value in changes.items():
                data[at + offset : at + offset + len(value)] = value
            at = data.find(signature, at + 4)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("method", [1, 6, 9, 93, 95, 98, 1234])
def test_methods_that_python_cannot_read_are_bad_compression(method, tmp_path):
    value = struct.pack("<H", method)
    path = patched(make_zip(tmp_path / "a.zip", MEMBERS), local={8: value}, central={10: value})
    code, findings = refusal(path)
    assert code == "bad-compression"
    assert [finding.where.member for finding in findings] == list(MEMBERS)


def test_an_encrypted_zip_is_a_bad_archive(tmp_path):
    path = patched(make_zip(tmp_path / "a.zip", MEMBERS), local={6: b"\1"}, central={8: b"\1"})
    code, findings = refusal(path)
    assert code == "bad-archive"
    assert "encrypted" in findings[0].message


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_wrong_checksum_is_a_broken_member(method, tmp_path):
    path = make_zip(tmp_path / "a.zip", MEMBERS, method)
    data = bytearray(path.read_bytes())
    data[data.find(b"submission.csv") + len(b"submission.csv") + 3] ^= 1
    path.write_bytes(data)
    tree, _ = opened(path)
    with tree:
        fault = fault_of(tree.read, "submission.csv")
        assert fault.code == "bad-archive"
        assert "submission.csv" in fault.message
        assert tree.read("predictions/test_0.png") == MEMBERS["predictions/test_0.png"]


def test_headers_that_disagree_are_a_broken_member(tmp_path):
    for local in ({30: b"X"}, {8: b"\0"}):
        tree, _ = opened(patched(make_zip(tmp_path / "a.zip", MEMBERS), local=local, central={}))
        with tree:
            assert fault_of(tree.read, "submission.csv").code == "bad-archive"


def test_members_that_share_bytes_are_refused(tmp_path):
    path = patched(make_zip(tmp_path / "a.zip", MEMBERS), local={}, central={42: bytes(4)})
    assert refusal(path)[0] == "bad-archive"


def test_zips_of_64_bits_are_read(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        for name, content in MEMBERS.items():
            with file.open(name, "w", force_zip64=True) as member:
                member.write(content)
    data = (tmp_path / "a.zip").read_bytes()
    end = data.rfind(b"PK\5\6")
    count, size, offset = len(MEMBERS), *struct.unpack_from("<2L", data, end + 12)
    record = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, offset)
    place = struct.pack("<4sLQL", b"PK\6\7", 0, end, 1)
    old = b"PK\5\6" + struct.pack("<4H2LH", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    (tmp_path / "b.zip").write_bytes(data[:end] + record + place + old)
    assert contents(tmp_path / "b.zip") == contents(tmp_path / "a.zip") == MEMBERS


def test_zips_with_a_comment_or_from_a_stream_are_read(tmp_path):
    with zipfile.ZipFile(make_zip(tmp_path / "a.zip", MEMBERS), "a") as file:
        file.comment = b"PK made by hand"
    assert contents(tmp_path / "a.zip") == MEMBERS

    class Stream(io.RawIOBase):
        def __init__(self):
            self.data = b""

        def writable(self):
            return True

        def write(self, data):
            self.data += bytes(data)
            return len(data)

    stream = Stream()
    make_zip(stream, MEMBERS)
    (tmp_path / "b.zip").write_bytes(stream.data)
    assert contents(tmp_path / "b.zip") == MEMBERS


@pytest.mark.parametrize("form", ARCHIVES)
def test_an_archive_that_claims_more_than_the_limit_is_refused(form, tmp_path):
    path = FORMS[form](tmp_path / "a", {"zeros": bytes(3_000_000), "x": b""})
    code, findings = refusal(path, max_unpacked=1_000_000)
    assert code == "too-large-unpacked"
    assert "--set max_unpacked=" in findings[0].advice
    assert len(contents(path, max_unpacked=4_000_000)["zeros"]) == 3_000_000


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_bomb_that_lies_about_its_size_is_counted_while_it_unpacks(method, tmp_path, monkeypatch):
    size = struct.pack("<L", 10)
    path = make_zip(tmp_path / "a.zip", {"zeros": bytes(50_000_000), "x": b""}, method)
    patched(path, local={22: size}, central={24: size})
    largest = []
    crc32 = zlib.crc32
    monkeypatch.setattr(zlib, "crc32", lambda data, *rest: largest.append(len(data)) or crc32(data, *rest))
    tree, _ = opened(path, max_unpacked=5_000_000)
    with tree:
        if method == zipfile.ZIP_LZMA:  # the stream itself knows its end
            assert fault_of(tree.read, "zeros").code in {"too-large-unpacked", "bad-archive"}
        else:
            assert fault_of(tree.read, "zeros").code == "too-large-unpacked"
        assert len(tree.head("zeros", 33)) == 33 or method == zipfile.ZIP_LZMA
    assert max(largest) <= 1 << 20
    tree, _ = opened(path)
    with tree:
        assert fault_of(tree.read, "zeros").code == "bad-archive"


def test_the_bound_holds_for_all_members_together_and_counts_each_once(tmp_path):
    path = make_zip(tmp_path / "a.zip", {str(n): bytes(1000) for n in range(5)})
    tree, _ = opened(path, max_unpacked=5000)
    with tree:
        tree.max_unpacked = 2500
        for _ in range(3):
            assert len(tree.read("0")) == len(tree.read("1")) == 1000
        assert fault_of(tree.read, "2").code == "too-large-unpacked"
        assert len(tree.read("1")) == 1000
        assert fault_of(tree.read, "1", limit=999).code == "too-large-unpacked"


def test_folders_are_not_packed_and_have_no_bound_together(tmp_path):
    path = make_folder(tmp_path / "a", {str(n): bytes(1000) for n in range(5)})
    assert len(contents(path, max_unpacked=1000)) == 5
    tree, _ = opened(path, max_unpacked=999)
    assert fault_of(tree.read, "0").code == "too-large-unpacked"


@every_form
def test_the_number_of_members_is_bounded(form, tmp_path, monkeypatch):
    monkeypatch.setattr(archive_members, "MAX_MEMBERS", 4)
    assert refusal(FORMS[form](tmp_path / "a", {f"{n}": b"" for n in range(6)}))[0] == "too-large-unpacked"


def test_streams_that_follow_one_another_are_one(tmp_path):
    data = make_tar(tmp_path / "a.tar", MEMBERS).read_bytes()
    for pack in (gzip.compress, bz2.compress, lzma.compress):
        (tmp_path / "b").write_bytes(pack(data[:1000]) + pack(data[1000:]) + bytes(8))
        assert contents(tmp_path / "b") == MEMBERS


@pytest.mark.parametrize("form", ["tar", "tar gnu", "tar gz"])
def test_long_names_in_tars_are_read(form, tmp_path):
    name = "/".join(["folder" * 9] * 5) + "/\xe9.png"
    members = {name: b"1", "x" * 100: b"2", "short": b"3"}
    assert contents(FORMS[form](tmp_path / "a", members)) == members


def test_a_long_name_in_a_tar_is_bounded(tmp_path):
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as file:
        info = tarfile.TarInfo("././@LongLink")
        info.type, info.size = tarfile.GNUTYPE_LONGNAME, 100_000_000
        file.addfile(info, io.BytesIO(bytes(info.size)))
    code, findings = refusal(tmp_path / "a.tar.gz")
    assert code == "bad-archive"
    assert "too long" in findings[0].message


def test_a_name_shown_to_people_has_no_control_characters(tmp_path):
    _, findings = refusal(make_tar(tmp_path / "a.tar", {"../\x1b[2J" + "x" * 500: b"", "b": b""}))
    assert findings[0].message.isprintable()
    assert findings[0].where.member.isprintable()
    assert len(findings[0].message) < 300


@every_form
def test_a_tree_travels_to_another_process_and_threads_may_share_it(form, tmp_path):
    members = {f"m/{n}": os.urandom(1000) * n for n in range(40)}
    tree, _ = opened(FORMS[form](tmp_path / "a", members))
    with tree, pickle.loads(pickle.dumps(tree)) as again, ThreadPoolExecutor(8) as pool:
        assert again.names == tree.names == tuple(sorted(name[2:] for name in members))
        for one in (tree, again):
            found = dict(zip(one.names * 5, pool.map(one.read, one.names * 5), strict=True))
            assert {f"m/{name}": content for name, content in found.items()} == members


def test_faults_travel_to_another_process():
    fault = pickle.loads(pickle.dumps(MemberFault("bad-archive", "It is broken.", "Make it again.")))
    assert (fault.code, fault.message, fault.advice) == ("bad-archive", "It is broken.", "Make it again.")
    assert str(fault) == "bad-archive: It is broken. Make it again."


def test_the_digest_of_a_folder_is_that_of_its_sorted_lines(tmp_path):
    path = make_folder(tmp_path / "a", {"b/x": b"1", "b.x": b"2", "\xe9": b""})
    lines = "".join(
        f"{name} {sha256(content).hexdigest()}\n"
        for name, content in (("b.x", b"2"), ("b/x", b"1"), ("\xe9", b""))
    )
    assert digest(path) == sha256(lines.encode()).hexdigest()
    assert digest(path / "b.x") == sha256(b"2").hexdigest()


def valid_archives():
    found = []
    for form in ARCHIVES:
        file = io.BytesIO()
        members = {"submission.csv": b"id\n" * 20, "p/\xe9.png": bytes(70), "p/" + "n" * 120: b"x"}
        if "zip" in form:
            method = {"zip stored": 0, "zip": 8, "zip bzip2": 12, "zip lzma": 14}[form]
            make_zip(file, members, method)
        elif form != "tar ustar":
            style = tarfile.GNU_FORMAT if form == "tar gnu" else tarfile.PAX_FORMAT
            packed = form.split()[1] if form.split()[1:] and form != "tar gnu" else ""
            with tarfile.open(fileobj=file, mode=f"w:{packed}", format=style) as archived:
                for name, content in members.items():
                    info = tarfile.TarInfo(name)
                    info.size = len(content)
                    archived.addfile(info, io.BytesIO(content))
        else:
            continue
        found.append(file.getvalue())
    return found


def mended(data):
    """A plain tar whose header sums are right again, so that damage gets past them."""
    data = bytearray(data)
    for at in range(0, len(data) - 511, 512):
        if data[at + 257 : at + 262] == b"ustar":
            data[at + 148 : at + 156] = b" " * 8
            data[at + 148 : at + 156] = b"%06o\0 " % sum(data[at : at + 512])
    return bytes(data)


@st.composite
def damaged(draw):
    data = bytearray(draw(st.sampled_from(valid_archives())))
    for _ in range(draw(st.integers(1, 4))):
        if not data:
            break
        at = draw(st.integers(0, len(data) - 1))
        if draw(st.booleans()):
            at = max(0, len(data) - 1 - at % 400)  # where a zip's directory stands
        how = draw(st.sampled_from(["flip", "put", "double", "take", "cut"]))
        if how == "flip":
            data[at] ^= 1 << draw(st.integers(0, 7))
        elif how == "put":
            data[at] = draw(st.sampled_from([0, 1, 0x20, 0x7F, 0x80, 0xFF]))
        elif how == "double":
            data[at:at] = data[at : at + draw(st.integers(1, 60))]
        elif how == "take":
            del data[at : at + draw(st.integers(1, 60))]
        else:
            del data[at + 1 :]
    return mended(data) if draw(st.booleans()) else bytes(data)


@given(damaged())
@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_archives_give_members_or_faults(tmp_path, data):
    path = tmp_path / "a"
    path.write_bytes(data)
    tree, diagnosis = opened(path, max_unpacked=1 << 20)
    assert diagnosis.codes() <= {
        "bad-archive", "unsafe-path", "ambiguous-submission", "too-large-unpacked", "bad-compression"
    }  # fmt: skip
    if tree is None:
        return
    with tree:
        for name in tree.names:
            for call in (lambda name: tree.head(name, 33), tree.read):
                try:
                    assert isinstance(call(name), bytes)
                except MemberFault as fault:
                    assert fault.code in {"bad-archive", "too-large-unpacked"}  # noqa: PT017
