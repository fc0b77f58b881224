"""A cluster gives what one process gives, to the last bit, whoever dies on the way."""

import dataclasses
import gzip
import os
import pickle
import signal
import sys
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import Client, LocalCluster

import segjudge as sj
from segjudge import chunks
from segjudge.formats.copies import CopiedFile, Remote
from segjudge.formats.opening import ByteFile
from tests.coco_scenes import files, instances, random_scene
from tests.running import segjudge

EXAMPLES = Path(__file__).parents[1] / "examples"
FILES = {
    "wad-2018": ("truth.csv", "good.csv"),
    "badlad": ("truth.csv", "good.csv"),
    "dsb-2018": ("truth.csv", "good.csv"),
    "emoji": ("truth", "good.zip"),
}


@pytest.fixture(autouse=True)
def many_chunks(monkeypatch):
    monkeypatch.setattr(chunks, "_MOST", 200)


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes on this machine."""
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
    ) as local:
        yield local


@pytest.fixture
def client(cluster):
    with Client(cluster) as found:
        yield found


@pytest.fixture(scope="module")
def streets(tmp_path_factory):
    """A truth and a submission of two hundred images."""
    folder = tmp_path_factory.mktemp("streets")
    rng = np.random.default_rng(5)
    truth, submission = ["ImageId,LabelId,EncodedPixels,Height,Width"], []
    for image in range(200):
        for row in range(3):
            start, length = 50 * row + int(rng.integers(9)), int(rng.integers(5, 40))
            truth.append(f"i{image},{33 + row},{start} {length}|,30,50")
            start, length = start + int(rng.integers(3)), length + int(rng.integers(3))
            submission.append(f"i{image},{33 + row},{rng.random()},{length},{start} {length}|")
    rng.shuffle(submission)
    paths = folder / "truth.csv", folder / "submission.csv"
    header = "ImageId,LabelId,Confidence,PixelCount,EncodedPixels"
    for path, lines in zip(paths, (truth, [header, *submission]), strict=True):
        path.write_text("\n".join([*lines, ""]))
    return paths


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    """COCO's annotations and results of forty images; some entries are written so that masks are kept apart."""
    paths = files(tmp_path_factory.mktemp("objects"), random_scene(5, images=40, predictions=20))
    for path, name in zip(paths, ("iscrowd", "score"), strict=True):
        parts = path.read_text().split(f'"{name}"')
        names = [
            f'"\\u{ord(name[0]):04x}{name[1:]}"' if n % 5 == 0 else f'"{name}"' for n in range(len(parts) - 1)
        ]
        path.write_text("".join(part + name for part, name in zip(parts, [*names, ""], strict=True)))
    return paths


def scored(name, paths, **how):
    task = sj.load_task(name)
    result = sj.score(task, sj.read_truth(task, paths[0]), sj.read_submission(task, paths[1]), **how)
    return result.to_json()


class Elsewhere(Executor):
    """Runs a task at once, as another process would get it; `change` is what happens to it on the way."""

    def __init__(self, change=lambda task: task):
        self.change = change
        self.tasks = []

    def submit(self, work, task):
        future = Future()
        task = pickle.loads(pickle.dumps(self.change(task)))
        self.tasks.append(task)
        try:
            future.set_result(pickle.loads(pickle.dumps(work(task))))
        except sj.SegjudgeError as error:
            future.set_exception(error)
        return future


@pytest.mark.parametrize("name", FILES)
def test_every_task_goes_through_pickle(name):
    paths = [EXAMPLES / name / file for file in FILES[name]]
    elsewhere = Elsewhere()
    assert scored(name, paths, cluster=elsewhere) == scored(name, paths)
    assert elsewhere.tasks


def test_two_processes_of_dask_give_the_same(client, streets):
    assert scored("wad-2018", streets, cluster=client) == scored("wad-2018", streets)


def test_executors_give_the_same(streets):
    alone = scored("wad-2018", streets)
    with ThreadPoolExecutor(3) as pool:
        assert scored("wad-2018", streets, cluster=pool) == alone
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        assert scored("wad-2018", streets, cluster=pool) == alone


def test_findings_are_the_same(tmp_path, streets):
    broken = tmp_path / "s.csv"
    broken.write_text(streets[1].read_text().replace("|\n", "|0 0|\n", 90).replace("i7,", "other,", 2))
    diagnoses = []
    for cluster in (None, Elsewhere()):
        with pytest.raises(sj.SubmissionError) as caught:
            scored("wad-2018", [streets[0], broken], cluster=cluster)
        diagnoses.append(caught.value.diagnosis)
    assert diagnoses[0] == diagnoses[1]
    assert "unknown-id" in diagnoses[0].codes()
    assert diagnoses[0].errors > 90


def test_a_task_holds_its_own_rows_and_no_text_where_the_file_is_seen(streets):
    elsewhere = Elsewhere()
    scored("wad-2018", streets, cluster=elsewhere)
    sizes = [len(pickle.dumps(task)) for task in elsewhere.tasks]
    whole = sum(path.stat().st_size for path in streets)
    assert len(sizes) > 20
    assert max(sizes) < whole // 2
    assert all(len(task.files) == 2 for task in elsewhere.tasks)


def unseen(task):
    """The task as a machine meets it that lacks the files."""
    files = tuple((f"/nowhere{path}", size) for path, size in task.files)
    return dataclasses.replace(task, files=files)


def other_size(task):
    return dataclasses.replace(task, files=tuple((path, size + 1) for path, size in task.files))


@pytest.mark.parametrize("change", [unseen, other_size])
def test_workers_that_do_not_see_the_files_are_sent_the_text(streets, change):
    elsewhere = Elsewhere(change)
    assert scored("wad-2018", streets, cluster=elsewhere) == scored("wad-2018", streets)
    last = elsewhere.tasks[-1]
    assert not last.files
    assert not isinstance(last.reader.truth.table.text.file, ByteFile)


# --- originals -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def packed(tmp_path_factory, streets):
    """The same as Parquet of many row groups."""
    folder = tmp_path_factory.mktemp("packed")
    paths = folder / "truth.parquet", folder / "submission.parquet"
    for path, source in zip(paths, streets, strict=True):
        names, *rows = [line.split(",") for line in source.read_text().splitlines()]
        columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        pq.write_table(pa.table(columns), path, row_group_size=37)
    return paths


def copies_gone(task):
    """The task as another machine meets it, which has the originals and no copies of them."""
    task = pickle.loads(pickle.dumps(task))
    for side in (task.reader.submission, task.reader.truth):
        file = side.table.text.file if hasattr(side, "table") else side.segments.file
        assert isinstance(file, CopiedFile)
        file.path = Path("/nowhere") / file.path.name
    return task


def as_url(path):
    return path.absolute().as_uri()


def in_memory(path):
    fsspec.filesystem("memory").pipe(f"/originals/{path.name}", path.read_bytes())
    return f"memory://originals/{path.name}"


def without_receipt(result):
    return {**result, "receipt": None}


@pytest.mark.parametrize("named", [str, as_url, in_memory])
def test_row_groups_are_read_where_the_copy_is_not(packed, streets, named):
    elsewhere = Elsewhere(copies_gone)
    paths = [named(path) for path in packed]
    there = scored("wad-2018", paths, cluster=elsewhere)
    assert there == scored("wad-2018", paths)
    assert without_receipt(there) == without_receipt(scored("wad-2018", streets))
    assert [len(task.files) for task in (elsewhere.tasks[0], elsewhere.tasks[-1])] == [2, 2]
    assert max(len(pickle.dumps(task)) for task in elsewhere.tasks) < 1 << 13


@pytest.mark.parametrize("named", [as_url, in_memory])
@pytest.mark.parametrize("name", ["wad-2018", "coco"])
def test_files_at_urls_are_read_there_where_the_copy_is_not(streets, objects, name, named):
    elsewhere = Elsewhere(copies_gone)
    local = streets if name == "wad-2018" else objects
    paths = [named(path) for path in local]
    assert scored(name, paths, cluster=elsewhere) == scored(name, local)
    assert [len(task.files) for task in (elsewhere.tasks[0], elsewhere.tasks[-1])] == [2, 2]


def test_two_processes_of_dask_read_the_row_groups_themselves(client, packed, monkeypatch):
    alone = scored("wad-2018", packed)
    moved = CopiedFile.absolute
    monkeypatch.setattr(
        CopiedFile, "absolute", lambda self: CopiedFile(Path("/nowhere"), original=moved(self).original)
    )
    monkeypatch.setattr(
        "segjudge.cluster._Sending._carried", property(lambda _: False, refuse), raising=False
    )
    assert scored("wad-2018", packed, cluster=client) == alone
    assert scored("wad-2018", [as_url(path) for path in packed], cluster=client) == alone


def refuse(_, carried):
    assert not carried


def test_findings_of_row_groups_are_the_same(packed, tmp_path):
    broken = tmp_path / "s.parquet"
    table = pq.read_table(packed[1])
    runs = [
        text.replace("|", "|0 0|") if n % 5 else text
        for n, text in enumerate(table["EncodedPixels"].to_pylist())
    ]
    ids = [
        None if n == 7 else text + "?" * (n % 50 == 1) for n, text in enumerate(table["ImageId"].to_pylist())
    ]
    columns = {**{name: table[name] for name in table.column_names}, "ImageId": ids, "EncodedPixels": runs}
    pq.write_table(pa.table(columns), broken, row_group_size=41)
    diagnoses = []
    for cluster in (None, Elsewhere(), Elsewhere(copies_gone), Elsewhere(unseen)):
        with pytest.raises(sj.SubmissionError) as caught:
            scored("wad-2018", [packed[0], broken], cluster=cluster)
        diagnoses.append(caught.value.diagnosis)
    assert diagnoses[0].errors > 400
    assert all(diagnosis == diagnoses[0] for diagnosis in diagnoses)


@pytest.mark.parametrize("change", [unseen, other_size])
def test_workers_that_cannot_read_the_originals_are_sent_the_text(packed, change):
    elsewhere = Elsewhere(change)
    assert scored("wad-2018", packed, cluster=elsewhere) == scored("wad-2018", packed)
    last = elsewhere.tasks[-1]
    assert not last.files
    assert not isinstance(last.reader.truth.table.text.file, ByteFile)


def test_workers_without_pyarrow_are_sent_the_text(packed, monkeypatch):
    monkeypatch.setattr("segjudge.formats.table.row_groups.find_spec", lambda _: None)
    elsewhere = Elsewhere(lambda task: copies_gone(task) if task.files else task)
    assert scored("wad-2018", packed, cluster=elsewhere) == scored("wad-2018", packed)
    assert [len(task.files) for task in (elsewhere.tasks[0], elsewhere.tasks[-1])] == [2, 0]


def test_large_row_groups_are_sent_as_text(packed, monkeypatch):
    monkeypatch.setattr("segjudge.formats.table.row_groups._LARGEST", 500)
    elsewhere = Elsewhere(unseen)
    assert scored("wad-2018", packed, cluster=elsewhere) == scored("wad-2018", packed)
    assert not elsewhere.tasks[-1].files


def test_a_parquet_file_that_has_changed_is_told(packed, tmp_path):
    path, table = tmp_path / "s.parquet", pq.read_table(packed[1])
    pq.write_table(table, path, row_group_size=37)
    submission = sj.read_submission(sj.load_task("wad-2018"), path)
    original = submission.source.table.text.file.original
    column = table.column_names.index("EncodedPixels")
    pq.write_table(table.set_column(column, "EncodedPixels", table["LabelId"]), path, row_group_size=37)
    changed = dataclasses.replace(original, size=path.stat().st_size)
    with pytest.raises(sj.ClusterError, match="has changed since"):
        changed.read(1, 0)


def test_servers_that_give_no_ranges_are_not_asked_for_them(tmp_path, monkeypatch):
    path = tmp_path / "x"
    path.write_bytes(b"0123456789")
    remote = Remote(as_url(path), 10)
    assert (remote.read(3, 4), remote.read(9, 8), remote.read(1, 10), remote.readable()) == (
        b"456",
        b"89",
        b"",
        True,
    )
    whole = Remote(in_memory(path), 10)
    monkeypatch.setattr(
        type(fsspec.filesystem("memory")), "cat_file", lambda self, path, **_: self.store[path].getvalue()
    )
    assert not whole.readable()
    with pytest.raises(OSError, match="10 bytes where 3"):
        whole.read(3, 4)


# --- COCO's files, and arrays --------------------------------------------------------------------------------


def test_objects_score_the_same_with_several_workers(objects):
    alone = scored("coco", objects)
    assert alone["score"] > 0.1
    assert alone["counts"]["ignored"] > 0
    assert scored("coco", objects, workers=2) == alone
    told = [segjudge("score", "coco", *objects, "--json", "--workers", str(n)) for n in (1, 2)]
    assert told[0].json == told[1].json
    assert told[0].json["metrics"] == alone["metrics"]


def test_objects_score_the_same_in_processes(objects):
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        assert scored("coco", objects, cluster=pool) == scored("coco", objects)


@pytest.mark.parametrize(("change", "left"), [(lambda task: task, 2), (unseen, 0), (other_size, 0)])
def test_objects_score_the_same_wherever_the_files_are_seen(objects, change, left):
    elsewhere = Elsewhere(change)
    assert scored("coco", objects, cluster=elsewhere) == scored("coco", objects)
    tasks = elsewhere.tasks
    assert len(tasks) > 10
    assert [len(task.files) for task in (tasks[0], tasks[-1])] == [2, left]
    sizes = [len(pickle.dumps(task)) for task in tasks]
    assert max(sizes) < sum(path.stat().st_size for path in objects) // 4


def test_findings_about_objects_are_the_same(tmp_path, objects):
    broken = tmp_path / "results.json"
    broken.write_text(objects[1].read_text().replace('"size": [24, 24]', '"size": [24, 25]', 30))
    task, diagnoses = sj.load_task("coco"), []
    for how in ({}, {"workers": 2}, {"cluster": Elsewhere()}, {"cluster": Elsewhere(unseen)}):
        with pytest.raises(sj.SubmissionError) as caught:
            scored("coco", [objects[0], broken], **how)
        diagnoses.append(caught.value.diagnosis)
    assert diagnoses[0].totals["shape-mismatch"] == 30
    assert all(diagnosis == diagnoses[0] for diagnosis in diagnoses)
    truth = tmp_path / "annotations.json"
    truth.write_text(objects[0].read_text().replace('"size": [24, 24]', '"size": [24, 25]', 7))
    faults = [sj.check_truth(task, sj.read_truth(task, truth), workers=workers) for workers in (1, 2)]
    assert faults[0] == faults[1]
    assert faults[0].totals["shape-mismatch"] == 7


@pytest.mark.parametrize("name", ["coco", "dsb-2018"])
def test_arrays_score_the_same_and_each_task_holds_its_own(name):
    scene = random_scene(5, images=40, predictions=20)
    task = sj.load_task(name, ["overlapping=allow"] if name == "dsb-2018" else [])
    sides = [instances(things, scene, scene.images) for things in (scene.truths, scene.predictions)]
    if name == "dsb-2018":
        sides = [dataclasses.replace(side, class_ids=np.zeros(len(side), np.int64)) for side in sides]
    elsewhere = Elsewhere()
    alone, shared = (sj.score(task, *sides, cluster=cluster).to_json() for cluster in (None, elsewhere))
    assert shared == alone
    assert set(alone["receipt"]) == {"segjudge", "task"}
    assert len(elsewhere.tasks) > 10
    assert max(len(pickle.dumps(task)) for task in elsewhere.tasks) < len(pickle.dumps(sides)) // 4


def test_packed_and_quoted_files_give_the_same(tmp_path, streets):
    packed, quoted = tmp_path / "t.csv.gz", tmp_path / "s.csv"
    packed.write_bytes(gzip.compress(streets[0].read_bytes()))
    quoted.write_text(streets[1].read_text().replace("i5,", '"i5",'))
    for change in (lambda task: task, unseen):
        got = scored("wad-2018", [packed, quoted], cluster=Elsewhere(change))
        assert got["score"] == scored("wad-2018", streets)["score"]


def test_another_version_is_refused(streets):
    with pytest.raises(sj.ClusterError, match=r"segjudge .*, this is 0\.0\.0"):
        scored(
            "wad-2018", streets, cluster=Elsewhere(lambda task: dataclasses.replace(task, version="0.0.0"))
        )


class Failing(Executor):
    """Takes some tasks, and then fails: at once, or when it is asked."""

    def __init__(self, error, *, late):
        self.error, self.late, self.taken = error, late, 0

    def submit(self, work, task):
        self.taken += 1
        future = Future()
        if self.taken <= 5:
            future.set_result(work(task))
        elif self.late:
            future.set_exception(self.error)
        else:
            raise self.error
        return future


@pytest.mark.parametrize("late", [True, False])
def test_a_broken_executor_loses_nothing(streets, late):
    pool = Failing(BrokenExecutor("gone"), late=late)
    assert scored("wad-2018", streets, cluster=pool) == scored("wad-2018", streets)
    assert pool.taken > 5


def test_what_a_worker_raises_is_told(streets):
    with pytest.raises(sj.ClusterError, match="MemoryError"):
        scored("wad-2018", streets, cluster=Failing(MemoryError("full"), late=True))


def killing(pids):
    """A progress callback that kills the next of the processes as the work goes on."""
    left = list(pids)

    def progress(done, _):
        if done in {2, 40} and left:
            os.kill(left.pop(), getattr(signal, "SIGKILL", signal.SIGTERM))

    return progress, left


def test_killed_processes_of_a_pool_lose_nothing(streets):
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        pids = {pool.submit(os.getpid).result() for _ in range(20)}
        progress, left = killing(list(pids)[:1])
        assert scored("wad-2018", streets, cluster=pool, progress=progress) == scored("wad-2018", streets)
        assert not left


@pytest.mark.skipif(sys.platform == "win32", reason="the nanny of a killed worker needs long there")
def test_killed_workers_of_dask_lose_nothing(client, streets):
    pids = client.run(os.getpid).values()
    progress, left = killing(pids)
    assert scored("wad-2018", streets, cluster=client, progress=progress) == scored("wad-2018", streets)
    assert not left


def test_the_command_line_takes_an_address(cluster, streets):
    arguments = ["score", "wad-2018", *streets, "--json"]
    shared = segjudge(*arguments, "--cluster", cluster.scheduler_address)
    assert (shared.status, shared.json) == (0, segjudge(*arguments).json)


def test_an_address_without_scheduler_is_told_before_anything_is_read(streets, monkeypatch):
    monkeypatch.setattr("segjudge.cluster._TIMEOUT", 1)
    told = segjudge("score", "wad-2018", *streets, "--json", "--cluster", "tcp://127.0.0.1:1")
    assert (told.status, told.json["error"]["kind"]) == (3, "cluster")
    assert "dask scheduler" in told.json["error"]["advice"]


def test_without_dask_the_extra_is_named(streets, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    told = segjudge("score", "wad-2018", *streets, "--json", "--cluster", "tcp://127.0.0.1:1")
    assert (told.status, told.json["error"]["kind"]) == (3, "missing-extra")
    assert "segjudge[cluster]" in told.json["error"]["advice"]


def test_a_url_is_read_as_a_file(tmp_path, streets):
    memory = fsspec.filesystem("memory")
    for name, path in zip(("t.csv", "s.csv"), streets, strict=True):
        memory.pipe(f"/contest/{name}", path.read_bytes())
    urls = "memory://contest/t.csv", "memory://contest/s.csv"
    there = segjudge("score", "wad-2018", *urls, "--json")
    assert (there.status, there.json) == (0, segjudge("score", "wad-2018", *streets, "--json").json)
    gone = segjudge("score", "wad-2018", "memory://contest/none.csv", streets[1], "--json")
    assert (gone.status, gone.json["error"]["kind"]) == (2, "usage")
