"""A file is cut, indexed and hashed the same by one worker and by several, whatever the pieces are."""

import gzip
import hashlib
import threading
from concurrent.futures import CancelledError
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import segjudge as sj
from segjudge.crew import Crew
from segjudge.findings import Collector
from segjudge.formats.begun import Begun
from segjudge.formats.coco.instance_pass import pass_over_instances
from segjudge.formats.coco.result_pass import pass_over_results
from segjudge.formats.opening import ByteFile
from segjudge.formats.receipts import Receipt
from segjudge.formats.table import text as tables
from segjudge.formats.table.text import QuotedText, open_text
from tests.coco_scenes import files, random_scene

TRUTH = "ImageId,LabelId,EncodedPixels,Height,Width\n" + "".join(
    f"img_{n},33,{n} 3|{n + 20} 4|,9,{n + 60}\n" for n in range(40)
)
SUBMISSION = "ImageId,LabelId,Confidence,PixelCount,EncodedPixels\n" + "".join(
    f"img_{n},33,0.{n + 10},7,{n} 3|{n + 21} 4|\n" for n in range(40)
)


@pytest.fixture
def contest(tmp_path):
    paths = tmp_path / "truth.csv", tmp_path / "submission.csv"
    for path, text in zip(paths, (TRUTH, SUBMISSION), strict=True):
        path.write_text(text)
    return paths


def records(path, workers, findings):
    """Line, place and fields of every record, or "quoted"."""
    table = open_text(ByteFile(path), "t.csv", findings)
    if table is None:
        return None
    found = []
    try:
        with Crew(workers) as crew:
            for block in table.blocks(findings, crew):
                for number in range(len(block.starts)):
                    cells = [block.cell(number, column) for column in range(len(table.header))]
                    where = block.row + number, block.offset + int(block.starts[number])
                    found.append((*where, int(block.found[number]), cells))
    except QuotedText:
        return "quoted"
    return found


@settings(max_examples=150, deadline=None)
@given(st.text('ab,\n\r"ä', max_size=60), st.integers(1, 12), st.integers(1, 9), st.integers(1, 3))
def test_records_do_not_depend_on_pieces_or_workers(tmp_path_factory, text, block, margin, workers):
    path = tmp_path_factory.mktemp("pieces") / "t.csv"
    path.write_bytes(f"h,i\n{text}".encode())
    whole = Collector()
    expected = records(path, 1, whole)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "_BLOCK", block)
        patch.setattr(tables, "_MARGIN", margin)
        cut = Collector()
        assert records(path, workers, cut) == expected
    assert cut.diagnosis() == whole.diagnosis()


def test_a_byte_that_is_no_text_is_found_at_its_line_by_all(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_bytes(b"h,i\n" + b"a,b\n" * 50 + b"a,\xff\n" + b"a,b\n" * 50)
    monkeypatch.setattr(tables, "_BLOCK", 16)
    for workers in (1, 3):
        findings = Collector()
        records(path, workers, findings)
        (finding,) = findings.diagnosis().findings
        assert (finding.code, finding.where.row) == ("not-utf8", 52)


def test_a_line_without_end_is_no_table_for_all(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_bytes(b"h,i\na,b\n" + b"x" * 5000)
    monkeypatch.setattr(tables, "_BLOCK", 64)
    monkeypatch.setattr(tables, "_LONGEST_LINE", 1000)
    for workers in (1, 3):
        findings = Collector()
        assert len(records(path, workers, findings)) == 1
        assert [(f.code, f.where.row) for f in findings.diagnosis().findings] == [("bad-field-count", 3)]


def test_one_worker_means_one_thread(contest, monkeypatch):
    def refuse(thread):
        raise AssertionError(f"{thread.name} was started")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    task = sj.load_task("wad-2018")
    sj.score(task, sj.read_truth(task, contest[0]), sj.read_submission(task, contest[1]), workers=1)
    assert list(Crew(1).in_order(pow, [(2, 2)])) == [4]
    with pytest.raises(AssertionError, match="was started"):
        list(Crew(2).in_order(pow, [(2, 2)]))


@pytest.mark.parametrize("block", [1 << 22, 100])
def test_workers_change_neither_score_nor_receipt(contest, block, monkeypatch):
    monkeypatch.setattr(tables, "_BLOCK", block)
    task = sj.load_task("wad-2018")
    results = []
    for workers in (1, 2, 5):
        with Crew(workers) as crew:
            sides = [
                read(task, path, workers=crew, begun=Begun(path))
                for read, path in zip((sj.read_truth, sj.read_submission), contest, strict=True)
            ]
            results.append(sj.score(task, *sides, workers=crew).to_json())
    assert results[0] == results[1] == results[2]
    for side, path in zip(("truth", "submission"), contest, strict=True):
        expected = hashlib.sha256(path.read_bytes()).hexdigest()
        assert results[0]["receipt"][side] == f"sha256:{expected}"


def hashed_while_read(path):
    receipt = Receipt(path)
    running = receipt.running(path)
    data = path.read_bytes()
    running.add(data[:5])
    running.add(memoryview(data)[5:])
    running.finish(len(data))
    return receipt


def hashed_beside(path):
    receipt = Receipt(path)
    with Crew(2) as crew:
        receipt.begin(crew)
        receipt.value()
        assert receipt.running(path) is None
    return receipt


def hashed_by_a_crew_that_left(path):
    receipt = Receipt(path)
    crew = Crew(2)
    crew._stopped.set()
    receipt.begin(crew)
    return receipt


@pytest.mark.parametrize("way", [Receipt, hashed_while_read, hashed_beside, hashed_by_a_crew_that_left])
def test_every_way_leads_to_the_same_receipt(tmp_path, way):
    path = tmp_path / "some.csv"
    path.write_bytes(bytes(range(256)) * 300)
    assert way(path).value() == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_reader_that_missed_bytes_settles_nothing(tmp_path):
    path = tmp_path / "some.csv"
    path.write_bytes(b"abc")
    receipt = Receipt(path)
    running = receipt.running(path)
    running.add(b"ab")
    running.finish(3)
    assert receipt.value() == hashlib.sha256(b"abc").hexdigest()
    assert Receipt(path).running(Path("another.csv")) is None


def test_coco_files_are_hashed_while_they_are_read(tmp_path):
    task, receipts = sj.load_task("coco"), {}
    for path in files(tmp_path, random_scene(3)):
        receipts[path] = hashlib.sha256(path.read_bytes()).hexdigest(), Begun(path)
    truth, results = receipts
    sj.read_truth(task, truth, begun=receipts[truth][1])
    sj.read_submission(task, results, begun=receipts[results][1])
    for path, (expected, begun) in receipts.items():
        path.unlink()
        assert begun.receipt.value() == expected


def opened_by_a_crew(task, truth, results, *, packed=False):
    """A score of files that a crew began with before they were opened."""
    with Crew(2) as crew:
        sides = [Begun(path) for path in (truth, results)]
        for side, passing in zip(sides, (pass_over_instances, pass_over_results), strict=True):
            side.begin(crew, passing)
            assert (side._pass is None) == packed
        known = sj.read_truth(task, truth, workers=crew, begun=sides[0])
        return sj.score(task, known, sj.read_submission(task, results, begun=sides[1]), workers=crew)


def test_a_pass_that_began_early_changes_nothing(tmp_path):
    task = sj.load_task("coco")
    truth, results = files(tmp_path, random_scene(3))
    expected = sj.score(task, sj.read_truth(task, truth), sj.read_submission(task, results)).to_json()
    assert opened_by_a_crew(task, truth, results).to_json() == expected
    packed = [tmp_path / f"{path.name}.gz" for path in (truth, results)]
    for path, plain in zip(packed, (truth, results), strict=True):
        path.write_bytes(gzip.compress(plain.read_bytes()))
    assert opened_by_a_crew(task, *packed, packed=True).to_json()["metrics"] == expected["metrics"]


def test_what_a_pass_that_began_early_finds_is_told(tmp_path):
    task = sj.load_task("coco")
    truth, results = files(tmp_path, random_scene(3))
    results.write_text(results.read_text().replace('"score"', '"scores"', 1))
    with pytest.raises(sj.SubmissionError) as early:
        opened_by_a_crew(task, truth, results)
    with pytest.raises(sj.SubmissionError) as late:
        sj.score(task, sj.read_truth(task, truth), sj.read_submission(task, results))
    assert early.value.diagnosis == late.value.diagnosis
    assert early.value.diagnosis.totals == {"missing-field": 1}


def test_a_pass_ends_when_its_crew_is_let_go(tmp_path):
    truth, _ = files(tmp_path, random_scene(3))
    crew, begun = Crew(2), Begun(truth)
    crew._stopped.set()
    begun.begin(crew, pass_over_instances)
    with pytest.raises(CancelledError):
        begun._pass.result()


def test_a_file_that_goes_the_careful_way_has_the_same_receipt(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text(SUBMISSION.replace("img_39", '"img_39"'))
    task = sj.load_task("wad-2018")
    opened = sj.read_submission(task, path, begun=Begun(path))
    assert len(opened.source.image_ids) == 40
    assert opened.digest() == "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("block", "margin", "tail"), [(100, 10, 50), (1000, 1, 1), (64, 64, 4000), (7, 3, 0)]
)
@pytest.mark.parametrize("closed", [True, False])
def test_records_longer_than_any_buffer_are_read_whole(tmp_path, monkeypatch, block, margin, tail, closed):
    rng = np.random.default_rng(7)
    lengths = rng.choice([1, 2, 30, 900, 20_000], 60)
    rows = [" ".join(f"{2 * run + 1} 1" for run in range(length)) for length in lengths]
    path = tmp_path / "t.csv"
    text = "Id,Predicted,Height,Width\n" + "".join(f"{n}_0,{row},300,300\n" for n, row in enumerate(rows))
    path.write_text(text if closed else text[:-1])
    task = sj.load_task("badlad")
    tables_read = []
    for _ in range(2):
        opened = sj.read_truth(task, path)
        table = opened.source.table
        found = [text[begin:end] for begin, end in zip(table.begins, table.ends, strict=True)]
        tables_read.append((found, table.image_ids, table.rows.tolist(), opened.findings.diagnosis().totals))
        monkeypatch.setattr(tables, "_BLOCK", block)
        monkeypatch.setattr(tables, "_MARGIN", margin)
        monkeypatch.setattr(tables, "_ROOM_FOR_TAIL", margin + 1 + tail)
    assert tables_read[0][0] == rows
    assert tables_read[0] == tables_read[1]


def cut_short(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def replaced(path):
    other = path.with_suffix(".new")
    other.write_bytes(path.read_bytes()[::-1])
    other.replace(path)


@pytest.mark.parametrize("change", [cut_short, replaced])
@pytest.mark.parametrize("side", [0, 1])
def test_a_file_that_changes_after_it_was_opened_is_not_scored(contest, tmp_path, change, side):
    task = sj.load_task("wad-2018")
    both = [tmp_path / path.name for path in contest]
    for copy, path in zip(both, contest, strict=True):
        copy.write_bytes(path.read_bytes())
    known, opened = sj.read_truth(task, both[0]), sj.read_submission(task, both[1])
    assert sj.score(task, known, opened).score is not None
    change(both[side])
    for _ in range(2):
        with pytest.raises(sj.UsageError, match=f"{both[side].name} has changed since it was opened"):
            sj.score(task, known, opened)
    with pytest.raises(sj.UsageError, match="has changed"):
        sj.check_truth(task, known) if side == 0 else sj.check(task, opened)


def test_a_coco_file_that_is_cut_after_it_was_opened_is_told_as_that(tmp_path):
    task = sj.load_task("coco")
    truth, results = files(tmp_path, random_scene(3))
    known, opened = sj.read_truth(task, truth), sj.read_submission(task, results)
    cut_short(results)
    with pytest.raises(sj.UsageError, match="has changed since it was opened"):
        sj.score(task, known, opened)
