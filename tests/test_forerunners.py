"""Work that a copy of the process does ahead: it changes nothing but the time."""

import gzip
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from segjudge.forerunners import Forerunners
from tests.coco_scenes import files, random_scene

pytestmark = pytest.mark.skipif(
    not (hasattr(os, "fork") and hasattr(os, "memfd_create")), reason="processes cannot be copied here"
)


def said(code, *arguments, cwd=None):
    """What a fresh Python prints, which has loaded nothing yet; it must end within a minute."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True, text=True, check=True, timeout=60, cwd=cwd,
    )  # fmt: skip
    return done.stdout.strip()


def test_what_was_found_comes_back_whole():
    code = """
import os
from pickle import PickleBuffer
from segjudge.forerunners import Forerunners

class Kept:
    def __init__(self, data):
        self.data = data
    def __reduce__(self):
        return Kept, (PickleBuffer(self.data),)

here = os.getpid()
def work(errand):
    return "copy" if os.getpid() != here else "self", Kept(b"ab" * 3_000_000), Kept(b"")
sent = Forerunners.sent([work], 5)
os.waitid(os.P_PID, sent._processes[0], os.WEXITED | os.WNOWAIT)  # else it may not have begun
who, kept, empty = sent.result(0)
assert sent.result(0)[1] is kept
print(sent.count, who, kept.data == b"ab" * 3_000_000, bytes(empty.data))
"""
    assert said(code) == "1 copy True b''"


SHARED = """
import os, sys, time
from pathlib import Path
from segjudge.forerunners import Forerunners
folder = Path(sys.argv[1])
def work(number):
    def do(errand):
        (folder / f"begun {{number}}").touch()
        while not (folder / f"go {{number}}").exists():
            time.sleep(0.005)
        return number, os.getpid()
    return do
def wait(name):
    while not (folder / name).exists():
        time.sleep(0.005)
sent = Forerunners.sent([work(number) for number in range(3)], {most})
{rest}
"""


def test_several_share_the_work(tmp_path):
    rest = """
wait("begun 0")
wait("begun 1")
(folder / "go 1").touch()
wait("begun 2")
(folder / "go 2").touch()
(folder / "go 0").touch()
(zero, one), (two, three), (four, five) = map(sent.result, range(3))
print(sent.count, zero, two, four, one != three == five)
"""
    assert said(SHARED.format(most=2, rest=rest), tmp_path) == "2 0 1 2 True"


def test_what_nobody_has_begun_is_taken_back_and_never_begun(tmp_path):
    rest = """
wait("begun 0")
print(sent.result(1), sent.result(1), end=" ")
(folder / "go 0").touch()
wait("begun 2")
(folder / "go 2").touch()
print(sent.result(2)[0], sent.result(0)[0], (folder / "begun 1").exists())
"""
    assert said(SHARED.format(most=1, rest=rest), tmp_path) == "None None 2 0 False"


def test_one_who_dies_takes_nothing_of_the_others_with_him(tmp_path):
    rest = """
wait("begun 0")
wait("begun 1")
os.kill(sent._processes[0], 9)
(folder / "go 0").touch()
(folder / "go 1").touch()
wait("begun 2")
(folder / "go 2").touch()
print([number for number in range(3) if sent.result(number) is None] in ([0], [1]))
"""
    assert said(SHARED.format(most=2, rest=rest), tmp_path) == "True"


@pytest.mark.parametrize(
    "work",
    [
        "raise ValueError('lost')",
        "os.kill(os.getpid(), 9)",
        "os.kill(os.getpid(), 7)",
        "return lambda: 'not to be pickled'",
        "return None",
        "sys.exit(0)",
    ],
)
def test_work_that_comes_to_nothing_gives_nothing_and_says_nothing(work):
    code = f"""
import os, sys
from segjudge.forerunners import Forerunners
def work(errand):
    print("words")
    print("more words", file=sys.stderr)
    {work}
sent = Forerunners.sent([work], 1)
os.waitid(os.P_PID, sent._processes[0], os.WEXITED | os.WNOWAIT)  # else it may not have begun
print(sent.result(0), sent.result(0))
sent.dismiss()
try:
    os.waitpid(-1, 0)
except ChildProcessError:
    print("nobody left")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines() == ["None None", "nobody left"]
    assert done.stderr == ""


def test_who_is_let_go_works_no_longer():
    code = """
import os, time
from segjudge.forerunners import Forerunners
files = len(os.listdir("/proc/self/fd"))
sent = Forerunners.sent([lambda errand: time.sleep(600)] * 2, 2)
sent.dismiss()
sent.dismiss()
print(sent.result(0), len(os.listdir("/proc/self/fd")) - files)
try:
    os.waitpid(-1, 0)
except ChildProcessError:
    print("nobody left")
"""
    assert said(code).splitlines() == ["None 0", "nobody left"]


def test_nobody_waits_for_a_forerunner_whose_sender_has_left(tmp_path):
    code = """
import os, sys, time
from pathlib import Path
from segjudge.forerunners import Forerunners
def work(errand):
    while not errand.stopped:
        time.sleep(0.01)
    Path(sys.argv[1]).write_text("seen")
Forerunners.sent([work], 1)
print("gone")
sys.stdout.flush()
os._exit(0)
"""
    mark = tmp_path / "mark"
    assert said(code, mark) == "gone"
    wait = "import sys, time, pathlib\nwhile not pathlib.Path(sys.argv[1]).exists(): time.sleep(0.01)"
    said(wait, mark)
    assert mark.exists()


def test_nobody_is_sent_where_a_copy_would_lack_threads():
    assert Forerunners.sent([lambda _: 1], 1) is None  # numpy is loaded here
    code = """
import os, threading
from segjudge.forerunners import Forerunners
work = [lambda errand: 1]
leave = threading.Event()
other = threading.Thread(target=leave.wait)
other.start()
print(Forerunners.sent(work, 1), Forerunners.sent([], 1), Forerunners.sent(work, 0))
leave.set()
other.join()
def refuse():
    raise OSError("too many processes")
fork, os.fork = os.fork, refuse
print(Forerunners.sent(work, 1))
os.fork = fork
print(Forerunners.sent(work, 1).count)
"""
    assert said(code).split() == ["None", "None", "None", "None", "1"]


AHEAD = """
import os, sys
from pathlib import Path
from segjudge.forerunners import Forerunners
from segjudge.formats.begun import Begun
from segjudge.formats.coco.instance_pass import pass_over_instances
path = Path(sys.argv[1])
begun = Begun(path)
sent = Forerunners.sent([begun.work(path, pass_over_instances if sys.argv[2] == "pass" else None)], 1)
begun.expect(sent, 0)
{meanwhile}
if sys.argv[2] == "pass":
    found = begun.passed(pass_over_instances, path, path.name)
    print(len(found.annotations.columns()[0]), found.findings is begun.findings, end=" ")
print(begun.receipt.value(), sorted(begun.findings.diagnosis().totals))
"""
DONE = "os.waitid(os.P_PID, sent._processes[0], os.WEXITED | os.WNOWAIT)"
GONE = f"{DONE}\npath.unlink()"
KILLED = "os.kill(sent._processes[0], 9)"


@pytest.mark.parametrize("meanwhile", ["", GONE, KILLED], ids=["quiet", "read and gone", "killed"])
@pytest.mark.parametrize("what", ["pass", "receipt"])
def test_a_file_is_passed_over_ahead(tmp_path, what, meanwhile):
    truth, _ = files(tmp_path, random_scene(3))
    receipt = hashlib.sha256(truth.read_bytes()).hexdigest()
    count = len(json.loads(truth.read_text())["annotations"])
    words = said(AHEAD.format(meanwhile=meanwhile), truth, what)
    assert words == (f"{count} True {receipt} []" if what == "pass" else f"{receipt} []")


def test_an_empty_file_has_a_receipt_too(tmp_path):
    path = tmp_path / "empty.csv"
    path.touch()
    assert said(AHEAD.format(meanwhile=DONE), path, "receipt") == f"{hashlib.sha256(b'').hexdigest()} []"


def test_findings_of_a_pass_ahead_are_told_once_and_in_full(tmp_path):
    truth, _ = files(tmp_path, random_scene(3))
    whole = json.loads(truth.read_text())
    del whole["annotations"][1]["area"]
    truth.write_text(json.dumps(whole))
    words = said(AHEAD.format(meanwhile=DONE), truth, "pass")
    receipt = hashlib.sha256(truth.read_bytes()).hexdigest()
    assert words == f"{len(whole['annotations']) - 1} True {receipt} ['missing-field']"


def scored(task, truth, submission, workers):
    done = subprocess.run(
        [sys.executable, "-m", "segjudge", "score", task, truth, submission, "--json", "--workers", str(workers)],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def spelt_oddly(path):
    """The same JSON, in a spelling that the quick way does not know."""
    path.write_text(path.read_text().replace('"image_id"', '"image\\u005fid"'))


def cut(path):
    path.write_bytes(path.read_bytes()[:-20])


@pytest.mark.parametrize("change", [lambda _: None, spelt_oddly, cut], ids=["plain", "odd", "cut"])
@pytest.mark.parametrize("side", [0, 1])
def test_workers_change_no_sign_of_what_is_said_of_coco_files(tmp_path, change, side):
    both = files(tmp_path, random_scene(5))
    change(both[side])
    assert scored("coco", *both, 2) == scored("coco", *both, 1)


def test_workers_change_no_sign_of_what_is_said_of_tables(tmp_path):
    example = Path("examples/wad-2018")
    truth, submission = example / "truth.csv", example / "good.csv"
    expected = scored("wad-2018", truth, submission, 1)
    assert expected[0] == 0
    packed = tmp_path / "good.csv"
    packed.write_bytes(gzip.compress(submission.read_bytes()))
    for workers in (2, 3, 8):
        assert scored("wad-2018", truth, submission, workers) == expected
        again = json.loads(scored("wad-2018", truth, packed, workers)[1])
        assert again["receipt"]["submission"] == f"sha256:{hashlib.sha256(packed.read_bytes()).hexdigest()}"
        assert again["score"] == json.loads(expected[1])["score"]
