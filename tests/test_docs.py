"""The documentation says what the code does: codes, settings, verbs, links, task files and examples."""

from __future__ import annotations

import doctest
import importlib.util
import pickle
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import click
import numpy as np
import pytest
from PIL import Image

import segjudge as sj
from segjudge.cli import app
from segjudge.task import builtin_ids

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
EXAMPLES = ROOT / "examples"
SOURCES = sorted((ROOT / "src" / "segjudge").rglob("*.py"))
PAGES = sorted([*DOCS.rglob("*.md"), *EXAMPLES.rglob("*.md"), *ROOT.glob("*.md")])

# Every code that users may meet, but for those of forms that are not read yet.
CODES = frozenset({
    "not-utf8", "bad-delimiter", "bad-header", "bad-field-count",
    "unknown-id", "missing-id", "duplicate-id", "unknown-class",
    "bad-confidence", "confidence-range", "pixel-count-mismatch", "empty-mask", "masks-overlap",
    "rle-odd-tokens", "rle-not-integer", "rle-bad-length", "rle-bad-delimiter", "rle-start-below-base",
    "rle-out-of-bounds", "rle-overlap", "rle-unsorted", "rle-wrong-total", "rle-truncated",
    "bad-json", "missing-field", "bad-type",
    "mask-not-binary", "not-png", "bad-image-mode", "shape-mismatch", "missing-file", "extra-file",
    "unsafe-path", "ambiguous-submission", "bad-archive", "too-large-unpacked", "bad-compression",
    "sizes-unknown",
})  # fmt: skip
FOUND_FAULT = re.compile(
    r'\b(?:add|_add|_fault|Problem|PictureFault|MemberFault|Finding)\(\s*"([a-z0-9]+(?:-[a-z0-9]+)+)"'
)
TRUTHS = {"wad-2018": "truth.csv", "badlad": "truth.csv", "dsb-2018": "truth.csv", "emoji": "truth"}


def headings(page: Path) -> list[str]:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE)


def anchor(heading: str) -> str:
    plain = re.sub(r"[^\w\s-]", "", heading.replace("`", "")).strip().lower()
    return re.sub(r"[\s-]+", "-", plain)


def codes_in_source() -> set[str]:
    return {code for path in SOURCES for code in FOUND_FAULT.findall(path.read_text(encoding="utf-8"))}


def table_rows(page: Path) -> dict[str, list[str]]:
    """The rows of a page's tables by their first cell, as lists of cells."""
    rows = {}
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("| `"):
            cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            rows[cells[0].strip("`")] = cells
    return rows


# ---------------------------------------------------------------------------------------------- findings


def test_every_code_in_the_source_has_a_heading():
    assert codes_in_source() - set(headings(DOCS / "findings.md")) == set()


def test_the_search_for_codes_finds_most_of_them():
    assert len(codes_in_source() & CODES) > len(CODES) // 2


def test_every_code_that_users_may_meet_has_one_heading_with_its_level():
    page = (DOCS / "findings.md").read_text(encoding="utf-8")
    for code in CODES:
        assert re.findall(rf"^### {code}\n\n\*\*(?:Error|Warning|Note)\b", page, re.MULTILINE) != [], code
        assert headings(DOCS / "findings.md").count(code) == 1


def test_headings_of_findings_are_codes_or_groups():
    page = (DOCS / "findings.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^### (.+)$", page, re.MULTILINE))
    assert documented <= CODES | codes_in_source()


# ----------------------------------------------------------------------------------- settings and verbs


@pytest.mark.parametrize("name", [name for name in builtin_ids() if (DOCS / "tasks" / f"{name}.md").exists()])
def test_every_setting_of_a_task_stands_on_its_page_with_its_values(name):
    task = sj.load_task(name)
    rows = table_rows(DOCS / "tasks" / f"{name}.md")
    for setting, value in task.settings.items():
        assert setting in rows, setting
        _, taken, others, *_ = rows[setting]
        if setting == "max_unpacked":
            assert taken == "8 GiB"
        elif isinstance(value, list):
            assert taken == ", ".join(map(str, value))
        else:
            shown = str(value).lower() if isinstance(value, bool) else str(value)
            assert taken == f"`{shown}`"
            for choice in task.choices(setting).replace("a whole number", shown).split(", "):
                assert choice == shown or f"`{choice}`" in others, (setting, choice)


@pytest.mark.parametrize("name", builtin_ids())
def test_every_built_in_task_has_a_page_that_the_menu_shows(name):
    assert (DOCS / "tasks" / f"{name}.md").exists()
    assert f"tasks/{name}.md" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", builtin_ids())
def test_settings_rows_name_no_setting_that_the_task_lacks(name):
    page = (DOCS / "tasks" / f"{name}.md").read_text(encoding="utf-8")
    table = page[page.index("## Settings") : page.index("## Common mistakes")]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(sj.load_task(name).settings)


def test_every_verb_has_a_heading_on_the_page_of_the_command_line():
    assert set(app.list_commands(click.Context(app))) <= set(headings(DOCS / "cli.md"))


def test_the_page_of_the_command_line_is_what_the_commands_generate():
    generate = loaded(DOCS / "generate_cli.py")
    assert (DOCS / "cli.md").read_text(encoding="utf-8") == generate.page(), "run python docs/generate_cli.py"


# -------------------------------------------------------------------------------------- links and menu


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_within_the_repository_lead_somewhere(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if link.startswith(("https://", "http://", "mailto:")):
            continue
        path, _, fragment = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        if fragment:
            assert fragment in {anchor(heading) for heading in headings(target)}, link


def test_the_menu_shows_every_page_and_only_pages_that_exist():
    menu = set(
        re.findall(r": ([\w./-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert menu == {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}


# ------------------------------------------------------------------------------------ task files, Python


@pytest.mark.parametrize("path", sorted((DOCS / "tasks").glob("*.toml")), ids=lambda path: path.stem)
def test_task_files_of_the_docs_load_and_stand_on_the_page(path):
    assert sj.load_task(path).id == path.stem
    assert f'--8<-- "tasks/{path.name}"' in (DOCS / "tasks" / "your-own.md").read_text(encoding="utf-8")


def test_the_roads_of_the_docs_are_scored_by_iou_without_empty_classes(tmp_path):
    truth, submission = tmp_path / "truth.csv", tmp_path / "submission.csv"
    truth.write_text("image,class,mask,Height,Width\na,1,1:8;,4,8\na,2,9:8;,4,8\na,3,,4,8\n")
    submission.write_text("image,class,mask\na,1,1:6;\na,2,9:8;\na,3,\n")
    task = sj.load_task(DOCS / "tasks" / "roads.toml")
    result = sj.score(task, sj.read_truth(task, truth), sj.read_submission(task, submission))
    assert result.score == (6 / 8 + 1) / 2


def test_the_seeds_of_the_docs_count_an_iou_equal_to_the_threshold(tmp_path):
    truth, submission = tmp_path / "truth.csv", tmp_path / "submission.csv"
    truth.write_text("photo,pixels,Height,Width\na,0 5,5,4\nb,10 5,5,4\n")
    submission.write_text("photo,pixels\na,0 3\n")  # IoU 3/5 = 0.6: a hit at 0.4 and 0.6; nothing in b
    task = sj.load_task(DOCS / "tasks" / "seeds.toml")
    result = sj.score(task, sj.read_truth(task, truth), sj.read_submission(task, submission))
    assert result.score == pytest.approx((2 / 3 + 0) / 2, abs=1e-15)


def test_the_examples_of_the_python_page_run(monkeypatch):
    monkeypatch.chdir(ROOT)
    page = DOCS / "python.md"
    code = "\n".join(
        re.findall(r"^```pycon\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    )
    test = doctest.DocTestParser().get_doctest(code, {}, "python.md", str(page), 0)
    failures: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=failures.append)
    assert "".join(failures) == ""
    assert len(test.examples) > 15


def test_the_loop_of_the_python_page_runs(capsys, monkeypatch):
    torch = pytest.importorskip("torch")
    loops = re.findall(
        r"^```python\n(.*?)^```", (DOCS / "python.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    masks = torch.zeros(2, 8, 8)
    masks[0, 1:4, 1:6], masks[1, 5:7, 2:7] = 1, 1
    columns = {
        "labels": torch.tensor([1, 3]),
        "area": torch.tensor([15.0, 10.0]),
        "iscrowd": torch.tensor([0, 0]),
    }
    targets = [{"image_id": torch.tensor(number), "masks": masks.bool(), **columns} for number in (7, 12)]
    found = {"masks": masks[:, None] * 0.9, "labels": columns["labels"], "scores": torch.tensor([0.9, 0.8])}
    names = {"sj": sj, "torch": torch, "loader": [(None, targets)]}
    names["model"] = type(
        "Model", (), {"eval": lambda _: None, "__call__": lambda _, _pictures: [found, found]}
    )()
    exec(compile(loops[0], "python.md", "exec"), names)
    assert capsys.readouterr().out == "1.0 {1: 1.0, 3: 1.0}\n"
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    monkeypatch.setattr(
        torch.distributed,
        "all_gather_object",
        lambda parts, given: parts.__setitem__(slice(None), [given, pickle.loads(pickle.dumps(given))]),
    )
    exec(compile(loops[1], "python.md", "exec"), names)
    assert names["whole"].compute().counts["images"] == 2


# ---------------------------------------------------------------------------------------------- examples


@pytest.mark.parametrize("name", TRUTHS)
def test_good_examples_score_something_between_nothing_and_everything(name):
    task = sj.load_task(name)
    folder = EXAMPLES / name
    good = folder / ("good.zip" if name == "emoji" else "good.csv")
    result = sj.score(task, sj.read_truth(task, folder / TRUTHS[name]), sj.read_submission(task, good))
    assert result.score is not None
    assert 0.3 < result.score < 0.95


@pytest.mark.parametrize("name", TRUTHS)
def test_flawed_examples_have_the_findings_that_their_page_lists(name):
    task = sj.load_task(name)
    folder = EXAMPLES / name
    flawed = folder / ("flawed.zip" if name == "emoji" else "flawed.csv")
    truth = sj.read_truth(task, folder / TRUTHS[name])
    diagnosis = sj.check(task, sj.read_submission(task, flawed), truth=truth)
    page = (folder / "README.md").read_text(encoding="utf-8")
    listed = {
        (row.strip(), code) for row, code in re.findall(r"^\|([ \d]+)\| `([a-z-]+)` \|", page, re.MULTILINE)
    }
    found = {(str(finding.where.row or ""), finding.code) for finding in diagnosis.findings}
    assert not diagnosis.ok
    assert listed <= found
    assert {code for _, code in listed} | {"sizes-unknown"} >= diagnosis.codes()


def test_the_header_of_the_other_flawed_example_is_refused():
    task = sj.load_task("wad-2018")
    diagnosis = sj.check(task, sj.read_submission(task, EXAMPLES / "wad-2018" / "flawed-header.csv"))
    assert diagnosis.codes() == {"bad-header"}


def test_examples_are_what_their_maker_makes(tmp_path):
    loaded(EXAMPLES / "make.py").main(tmp_path)
    made = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()}
    kept = {
        path.relative_to(EXAMPLES)
        for name in TRUTHS
        for path in (EXAMPLES / name).rglob("*")
        if path.is_file()
    }
    assert made == {path for path in kept if path.suffix != ".md"}
    for path in made:
        assert contents(tmp_path / path) == contents(EXAMPLES / path), path


@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a shell")
def test_the_script_of_the_examples_leaves_with_success():
    script = EXAMPLES / "run.sh"
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    done = subprocess.run(["sh", script], capture_output=True, text=True, env={"PATH": path}, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("The file is refused") == 4


def contents(path: Path) -> object:
    """A file as what it means: pixels of pictures, members of zips, bytes of all others."""
    if path.suffix == ".png":
        with Image.open(path) as picture:
            return picture.mode, np.asarray(picture).tolist()
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return {name: member(archive, name) for name in archive.namelist()}
    return path.read_bytes()


def member(archive: zipfile.ZipFile, name: str) -> object:
    if not name.endswith(".png"):
        return archive.read(name)
    with archive.open(name) as file, Image.open(file) as picture:
        return picture.mode, np.asarray(picture).tolist()


def loaded(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
