"""The page of `bench/peers` names what segjudge loses, what was not measured, and whether the machine was quiet."""

import argparse
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

PEERS = Path(__file__).parents[1] / "bench" / "peers"
DSB = PEERS.parents[1] / "examples" / "dsb-2018"
MIB = 1 << 20


@pytest.fixture
def bench(monkeypatch):
    """`bench/peers` as a module, with its neighbours as attributes; nothing of it stays imported."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    spec = importlib.util.spec_from_file_location("segjudge_bench_peers", PEERS / "__main__.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    yield module
    for name in set(sys.modules) - before:
        if (
            getattr(sys.modules[name], "__file__", None)
            and PEERS.parent in Path(sys.modules[name].__file__).parents
        ):
            del sys.modules[name]


def timing(bench, *seconds, peak=100):
    return bench.parts.Timing([list(seconds)], peak * MIB)


def coco(bench, folder, images, threads, *, boxes=True, **timings):
    pair = bench.workloads.Pair(f"COCO, {images} images", "coco", *files(folder), images, boxes)
    found = {name.replace("_", "-"): value for name, value in timings.items()}
    return bench.Table(pair.title, pair, threads, found)


def wad(bench, folder, images, timings, kind="whole process"):
    pair = bench.workloads.Pair(f"WAD, {images} images", "wad-2018", *files(folder, images), images)
    return bench.Table(pair.title, pair, 0, timings, kind=kind)


def files(folder, size=1):
    paths = folder / f"truth-{size}", folder / f"submission-{size}"
    for path in paths:
        path.write_bytes(b"x" * size)
    return paths


def page(bench, tables, *, others=0.02, stopped=(), command="run"):
    peers = bench.environment.Environment(
        "python", {"hotcoco": "1.3.0"}, {"vernier": "could not be installed"}
    )
    account = bench.page.Account(command, "run", 600.0, others, 1e10, dict(stopped))
    return bench.page.written(tables, peers, account, drawn=False)


def test_each_loss_is_named_with_both_times(bench, tmp_path):
    won = coco(bench, tmp_path, 100, 1, segjudge=timing(bench, 0.1), hotcoco=timing(bench, 0.2))
    lost = coco(bench, tmp_path, 200, 2, segjudge=timing(bench, 0.4), hotcoco=timing(bench, 0.3))
    text = page(bench, [won, lost])
    assert "* COCO, 200 images, in process, 2 threads: hotcoco takes 300 ms, segjudge 400 ms." in text
    assert "| COCO, 200 images, in process, 2 threads | 400 ms | 300 ms, hotcoco | **0.75** |" in text
    assert "* COCO, 100 images" not in text
    assert "fastest in every row" not in text
    assert "segjudge is the fastest in every row." in page(bench, [won])


def test_a_loss_of_memory_is_named(bench, tmp_path):
    own, lean = timing(bench, 0.1, peak=120), timing(bench, 0.2, peak=100)
    text = page(bench, [coco(bench, tmp_path, 100, 1, segjudge=own, hotcoco=lean)])
    assert "* COCO, 100 images, in process, 1 thread: hotcoco 100 MiB, segjudge 120 MiB." in text


def test_more_threads_stand_beside_the_pipeline_that_knows_one(bench, tmp_path):
    timings = {
        "segjudge, 1 thread": timing(bench, 1.0),
        "segjudge, 2 threads": timing(bench, 0.5),
        "csv": timing(bench, 9.0),
    }
    text = page(bench, [wad(bench, tmp_path, 7, timings)])
    assert "| WAD, 7 images, whole process, 1 thread | 1.00 s | 9.00 s, csv | 9.00 |" in text
    assert "| WAD, 7 images, whole process, 2 threads | 500 ms | 9.00 s, csv | 18 |" in text


@pytest.mark.parametrize(
    ("others", "words"),
    [(0.02, "The machine was quiet"), (0.9, "**The machine was not quiet**"), (None, "is not known")],
)
def test_the_page_says_whether_the_machine_was_quiet(bench, tmp_path, others, words):
    table = coco(bench, tmp_path, 100, 1, segjudge=timing(bench, 0.1))
    assert words in page(bench, [table], others=others)


def test_what_was_not_measured_is_named(bench):
    text = page(bench, [], stopped={"dsb": "the scores differ"}, command="run --parts dsb")
    assert "* **Not measured**: dsb. the scores differ" in text
    assert "**This run is reduced.** The full one is `run`." in text
    assert "vernier: could not be installed." in text
    assert "reduced" not in page(bench, [])


def test_a_part_whose_tools_do_not_agree_stops_alone(bench, monkeypatch):
    def tables_of(part, *_):
        yield part
        if part == "wad":
            raise bench.BenchError("the scores differ")
        yield part

    monkeypatch.setattr(bench, "tables_of", tables_of)
    outcome = bench.measured(argparse.Namespace(parts=["wad", "dsb"]), None, 1.0)
    assert outcome.tables == ["wad", "dsb", "dsb"]
    assert outcome.stopped == {"wad": "the scores differ"}


def test_the_picture_shows_work_and_threads(bench, tmp_path):
    small = coco(bench, tmp_path, 100, 1, segjudge=timing(bench, 0.1), pycocotools=timing(bench, 9.0))
    large = coco(bench, tmp_path, 200, 1, segjudge=timing(bench, 0.2), pycocotools=timing(bench, 18.0))
    double = coco(bench, tmp_path, 200, 2, segjudge=timing(bench, 0.15), pycocotools=timing(bench, 18.0))
    bare = coco(bench, tmp_path, 300, 1, boxes=False, segjudge=timing(bench, 0.3))
    one, two = timing(bench, 1.0), timing(bench, 0.5)
    csv = [
        wad(
            bench,
            tmp_path,
            images,
            {"segjudge, 1 thread": one, "segjudge, 2 threads": two, "csv": timing(bench, 9)},
        )
        for images in (9, 7)
    ]
    inside = {"segjudge, 1 thread": two, "segjudge, 2 threads": two, "csv": timing(bench, 8)}
    csv.insert(0, wad(bench, tmp_path, 9, inside, kind="in process"))
    shown = bench.figures.figures([double, large, bare, small, *csv])
    assert shown["work"] == {"segjudge": [(100, 0.1), (200, 0.2)], "pycocotools": [(100, 9.0), (200, 18.0)]}
    assert shown["threads"] == {"COCO, 200 images": {"segjudge": [(1, 0.2), (2, 0.15)]}}
    assert shown["tables"] == {"WAD, 9 images": {"segjudge": [(1, 1.0), (2, 0.5)], "usual": [9]}}
    assert not any(bench.figures.figures([small]).values())


def test_a_tool_that_ran_once_is_compared_by_medians(bench):
    own = bench.parts.Timing([[9.0], [1.0], [1.0]])
    assert timing(bench, 6.0).ratio_to(own) == 6
    assert bench.parts.Timing([[9.0], [3.0], [4.0]]).ratio_to(own) == 3


def competition(bench, folder, monkeypatch, shell_score=0.5):
    """The tables of two CSV files, where every process tells of fixed times."""

    def run(command, threads, **_):
        words = " ".join(command)
        wall, answer = 2.0, {"score": shell_score}
        for script, inside, outside in (("csv_segjudge.py", 1.0, 7.0), ("csv_wad.py", 8.0, 9.0)):
            if script in words:
                wall, answer = outside, {"score": 0.5, "seconds": [inside / threads], "cpu": [0.0], "peak": 1}
        return measuring.child.Cost(0, wall / threads, 0.0, 1, json.dumps(answer), "")

    measuring = sys.modules["measuring"]
    monkeypatch.setattr(measuring, "run", run)
    monkeypatch.setattr(bench.competitions, "seconds_to_read", lambda _: 0.1)
    pair = bench.workloads.Pair("WAD, 7 images", "wad-2018", *files(folder), 7)
    effort = bench.parts.Effort(rounds=2, repeats=2, seed=1, threads=(1, 2))
    peers = bench.environment.Environment("python", {}, {})
    return list(bench.competitions.tables(pair, None, effort, peers, usual_rounds=1))


def test_like_stands_beside_like(bench, tmp_path, monkeypatch):
    tables = competition(bench, tmp_path, monkeypatch)
    seconds = {
        table.kind: {name: timing.seconds for name, timing in table.timings.items()} for table in tables
    }
    usual = "csv and numpy.fromstring, pycocotools' IoU"
    assert seconds == {
        "in process": {"segjudge, 1 thread": 1.0, "segjudge, 2 threads": 0.5, usual: 8.0},
        "whole process": {"segjudge, 1 thread": 2.0, "segjudge, 2 threads": 1.0, usual: 9.0},
    }
    assert [table.notes for table in tables] == [["The scores are equal."], []]


def test_nothing_is_listed_where_one_kind_gives_another_score(bench, tmp_path, monkeypatch):
    with pytest.raises(bench.BenchError, match="the scores differ"):
        competition(bench, tmp_path, monkeypatch, shell_score=0.5 + 1e-8)


def test_only_pipelines_that_need_pandas_import_it():
    """Imports count in a whole process."""
    assert "pandas" not in (PEERS / "csv_wad.py").read_text().partition('"""\n\n')[2]
    assert "pandas" not in (PEERS.parent / "peer_wad.py").read_text()


def test_segjudge_from_python_gives_the_score_of_the_shell():
    files = [str(DSB / name) for name in ("truth.csv", "good.csv")]
    from_python = [str(PEERS / "csv_segjudge.py"), "dsb-2018", *files, "1", "3"]
    from_shell = ["-m", "segjudge", "score", "dsb-2018", *files, "--json"]
    own, shell = (
        json.loads(subprocess.run([sys.executable, *words], capture_output=True, check=True).stdout)
        for words in (from_python, from_shell)
    )
    assert own["score"] == shell["score"]
    assert len(own["seconds"]) == len(own["cpu"]) == 2  # the first of three is left out
