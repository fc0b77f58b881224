"""Work that a copy of the process does ahead: it changes nothing but the time."""

import gzip
import hashlib
import io
import json
import os
import select
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from segjudge import kernels
from segjudge.doubles import Doubles
from tests.coco_scenes import files, random_scene
from tests.test_archive import FORMS

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
from segjudge.doubles import Doubles

class Kept:
    def __init__(self, data):
        self.data = data
    def __reduce__(self):
        return Kept, (PickleBuffer(self.data),)

here = os.getpid()
def work(errand):
    return "copy" if os.getpid() != here else "self", Kept(b"ab" * 3_000_000), Kept(b"")
sent = Doubles.made([work], 5)
os.waitid(os.P_PID, sent._doubles[0].process, os.WEXITED | os.WNOWAIT)  # else it may not have begun
who, kept, empty = sent.result(0)
assert sent.result(0)[1] is kept
print(sent.count, who, kept.data == b"ab" * 3_000_000, bytes(empty.data))
"""
    assert said(code) == "1 copy True b''"


def test_small_results_hold_no_file_open():
    code = """
import os
from pickle import PickleBuffer
from segjudge.doubles import Doubles
works = [lambda errand: PickleBuffer(b"abc")] * 50
sent = Doubles.made(works, 1)
os.waitid(os.P_PID, sent._doubles[0].process, os.WEXITED | os.WNOWAIT)  # else it may not have begun
files = len(os.listdir("/proc/self/fd"))
results = [sent.result(number) for number in range(50)]
print(len(os.listdir("/proc/self/fd")) - files, all(bytes(result) == b"abc" for result in results))
"""
    assert said(code) == "0 True"


def test_large_results_lie_where_systems_with_large_pages_can_map_them():
    code = """
import mmap
from pickle import PickleBuffer
from segjudge.doubles import Doubles
places = []
class Mapped(mmap.mmap):
    def __new__(cls, *words, **options):
        places.append(options["offset"])
        return super().__new__(cls, *words, **options)
mmap.mmap = Mapped
sent = Doubles.made([lambda errand: PickleBuffer(b"ab" * 600_000)] * 3, 1)
while sent._talking:  # else it may not have begun
    sent._listen(None)
print([sent.result(number)[:2] == b"ab" for number in range(3)], {place % 65536 for place in places})
"""
    assert said(code) == "[True, True, True] {0}"


SHARED = """
import os, sys, time
from pathlib import Path
from segjudge.doubles import Doubles
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
sent = Doubles.made([work(number) for number in range(3)], {most})
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
os.kill(sent._doubles[0].process, 9)
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
from segjudge.doubles import Doubles
def work(errand):
    print("words")
    print("more words", file=sys.stderr)
    {work}
sent = Doubles.made([work], 1)
os.waitid(os.P_PID, sent._doubles[0].process, os.WEXITED | os.WNOWAIT)  # else it may not have begun
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


def test_a_sender_that_works_itself_takes_no_work_away_from_its_doubles(tmp_path):
    code = """
import os
from segjudge.doubles import Doubles
here = os.getpid()
works = [lambda errand, number=number: (number, os.getpid() != here) for number in range(3000)]
made = Doubles.made(works, 1)
own, given = {}, []
while (number := made.take()) is not None:
    own[number] = works[number](None)
    for place in range(len(given), number + 1):
        if place not in own and not made.is_ready(place):
            break
        given.append(own[place] if place in own else made.result(place))
for place in range(len(given), len(works)):
    given.append(own[place] if place in own else made.result(place))
print([number for number, _ in given] == list(range(3000)), len(own) + sum(other for _, other in given))
made.dismiss()
"""
    assert said(code) == "True 3000"


def test_files_with_high_numbers_are_heard_of():
    code = """
import os, resource
from segjudge.doubles import Doubles
resource.setrlimit(resource.RLIMIT_NOFILE, (2048, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
files = [os.open(os.devnull, os.O_RDONLY) for _ in range(1030)]
sent = Doubles.made([lambda errand: 5], 1)
while sent._talking:
    sent._listen(None)
print(sent.result(0))
"""
    assert said(code) == "5"


def test_who_is_let_go_works_no_longer():
    code = """
import os, time
from segjudge.doubles import Doubles
files = len(os.listdir("/proc/self/fd"))
sent = Doubles.made([lambda errand: time.sleep(600)] * 2, 2)
sent.dismiss()
sent.dismiss()
print(sent.result(0), len(os.listdir("/proc/self/fd")) - files)
try:
    os.waitpid(-1, 0)
except ChildProcessError:
    print("nobody left")
"""
    assert said(code).splitlines() == ["None 0", "nobody left"]


def test_nobody_waits_for_a_double_whose_sender_has_left(tmp_path):
    code = """
import os, sys, time
from pathlib import Path
from segjudge.doubles import Doubles
mark = Path(sys.argv[1])
def work(errand):
    mark.with_name("begun").touch()
    while not errand.stopped:
        time.sleep(0.01)
    mark.write_text("seen")
Doubles.made([work], 1)
while not mark.with_name("begun").exists():
    time.sleep(0.01)
print("gone")
sys.stdout.flush()
os._exit(0)
"""
    mark = tmp_path / "mark"
    assert said(code, mark) == "gone"
    wait = "import sys, time, pathlib\nwhile not pathlib.Path(sys.argv[1]).exists(): time.sleep(0.01)"
    said(wait, mark)
    assert mark.exists()


def test_a_double_with_much_to_say_ends_with_its_sender():
    code = """
import os, sys, time
from segjudge.doubles import Doubles
Doubles.made([lambda errand: None] * 8000, 2)
time.sleep(1)  # until nothing more fits into their lines
os._exit(0)
"""
    near, far = os.pipe()  # open as long as one of them lives
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, pass_fds=[far])
    os.close(far)
    ready, _, _ = select.select([near], [], [], 20)
    os.close(near)
    assert ready


def test_nobody_is_sent_where_a_copy_would_lack_threads():
    assert Doubles.made([lambda _: 1], 1) is None  # there are more threads here
    code = """
import os, threading
from segjudge.doubles import Doubles
work = [lambda errand: 1]
leave = threading.Event()
other = threading.Thread(target=leave.wait)
other.start()
print(Doubles.made(work, 1), Doubles.made([], 1), Doubles.made(work, 0))
leave.set()
other.join()
def refuse():
    raise OSError("too many processes")
fork, os.fork = os.fork, refuse
print(Doubles.made(work, 1))
os.fork = fork
print(Doubles.made(work, 1).count)
"""
    assert said(code).split() == ["None", "None", "None", "None", "1"]


def test_a_double_that_is_interrupted_at_once_does_nothing_else():
    code = """
import os, signal
from segjudge.doubles import Doubles
fork = os.fork
def interrupted():
    process = fork()
    if process == 0:
        signal.raise_signal(signal.SIGINT)
    return process
os.fork = interrupted
try:
    sent = Doubles.made([lambda errand: 1], 1)
except KeyboardInterrupt:
    os.write(1, b"another")
    os._exit(1)
os.waitid(os.P_PID, sent._doubles[0].process, os.WEXITED | os.WNOWAIT)
print("process", sent.result(0))
"""
    assert said(code) == "process None"


FILES = """
import fcntl, os, resource
from segjudge.doubles import Doubles
work = [lambda errand: 1]
def files():
    return len(os.listdir("/proc/self/fd"))
before = files()
"""


def test_those_who_cannot_be_made_leave_no_file_open():
    code = """
fork = os.fork
def refused():
    raise OSError("too many processes")
def once():
    os.fork = refused
    return fork()
os.fork = refused
print(Doubles.made(work, 1), files() - before)
os.fork = once
sent = Doubles.made(work * 2, 2)
print(sent.count)
sent.dismiss()
print(files() - before)
"""
    assert said(FILES + code).splitlines() == ["None 0", "1", "0"]


def test_doubles_leave_files_for_the_work_of_the_process():
    code = """
def limit(number):
    resource.setrlimit(resource.RLIMIT_NOFILE, (number, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
limit(20)
print(Doubles.made(work * 50, 50), files() - before)
limit(100)
count = Doubles.made(work * 50, 50).count
print(1 < count < 50, files() + 20 < 100)
"""
    assert said(FILES + code).splitlines() == ["None 0", "True True"]


def test_a_pipe_that_is_too_small_for_the_list_holds_nobody_up():
    code = """
pipe = os.pipe
def small():
    ends = pipe()
    fcntl.fcntl(ends[1], 1031, 4096)  # its size, as for a user who has too many pipes
    return ends
os.pipe = small
print(Doubles.made(work * 3000, 1), files() - before, Doubles.made(work * 1000, 1).count)
"""
    assert said(FILES + code) == "None 0 1"


AHEAD = """
import os, sys
from pathlib import Path
from segjudge.doubles import Doubles
from segjudge.formats.begun import Begun
from segjudge.formats.coco.instance_pass import pass_over_instances
path = Path(sys.argv[1])
begun = Begun(path)
sent = Doubles.made([begun.work(path, pass_over_instances if sys.argv[2] == "pass" else None)], 1)
begun.expect(sent, 0)
{meanwhile}
if sys.argv[2] == "pass":
    found = begun.passed(pass_over_instances, path, path.name)
    print(len(found.annotations.columns()[0]), found.findings is begun.findings, end=" ")
print(begun.receipt.value(), sorted(begun.findings.diagnosis().totals))
"""
DONE = "os.waitid(os.P_PID, sent._doubles[0].process, os.WEXITED | os.WNOWAIT)"
GONE = f"{DONE}\npath.unlink()"
KILLED = "os.kill(sent._doubles[0].process, 9)"


@pytest.mark.parametrize("meanwhile", ["", GONE, KILLED], ids=["quiet", "read and gone", "killed"])
@pytest.mark.parametrize("what", ["pass", "receipt"])
def test_a_file_is_passed_over_ahead(tmp_path, what, meanwhile):
    if (what, meanwhile) == ("pass", GONE) and not kernels.COMPILED:
        pytest.skip("the careful reader writes masks anew, and then the file is read again")
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


def test_a_double_has_no_temporary_files(tmp_path):
    """They would stay where it is ended; masks that have to be rewritten need one."""
    results = files(tmp_path, random_scene(3))[1]
    results.write_text(results.read_text().replace('"counts": "', '"counts": "\\u0030'))
    code = """
import os, sys, tempfile
from pathlib import Path
from segjudge.doubles import Doubles
from segjudge.formats.begun import Begun
from segjudge.formats.coco.result_pass import pass_over_results
tempfile.mkdtemp = lambda **_: os.kill(os.getpid(), 9)
sent = Doubles.made([Begun.work(Path(sys.argv[1]), pass_over_results)], 1)
while sent._talking:
    sent._listen(None)
print(sent.result(0))
"""
    receipt = hashlib.sha256(results.read_bytes()).hexdigest()
    assert said(code, results) == f"_Ahead(receipt='{receipt}', passed=None)"


def scored(task, truth, submission, workers, **options):
    done = subprocess.run(
        [sys.executable, "-m", "segjudge", "score", task, truth, submission, "--json", "--workers", str(workers)],
        capture_output=True, text=True, check=False, timeout=120, **options,
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


@pytest.mark.parametrize("task", ["wad-2018", "coco"])
def test_standard_input_by_its_name_is_the_same_file_for_doubles(tmp_path, task):
    truth, submission = Path("examples/wad-2018/truth.csv"), Path("examples/wad-2018/good.csv")
    if task == "coco":
        truth, submission = files(tmp_path, random_scene(5))
    expected = scored(task, truth, submission, 1)
    assert expected[0] == 0
    for given, sides in ((submission, [truth, "/dev/stdin"]), (truth, ["/dev/stdin", submission])):
        with given.open("rb") as stdin:
            assert scored(task, *sides, 2, stdin=stdin) == expected


SPIED = """
import json, os, sys
from segjudge import doubles
from segjudge.cli import main
made = doubles.Doubles.made.__func__
counts = []
def spied(kind, works, most):
    found = made(kind, works, most)
    counts.append(None if found is None else found.count)
    return found
doubles.Doubles.made = classmethod(spied)
{change}
try:
    main()
except SystemExit:
    pass
sys.stderr.write(json.dumps(counts))
"""
AT_EACH_CHUNK = """
os.environ["OPENBLAS_NUM_THREADS"] = "1"
from segjudge.chunks import Reader
run, here, begun = Reader.run, os.getpid(), []
def changed(self, places, **options):
    begun.append(places)
    {deed}
    return run(self, places, **options)
Reader.run = changed
"""


def spied(files, workers, deed="", verb="score", task="wad-2018", change=""):
    change = AT_EACH_CHUNK.format(deed=deed) if deed else change
    command = [verb, task, *files, "--json", "--workers", str(workers)]
    return subprocess.run(
        [sys.executable, "-c", SPIED.format(change=change), *map(str, command)],
        capture_output=True, text=True, check=False, timeout=60,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "4"},
    )  # fmt: skip


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A truth and a submission of some megabytes, so that there are chunks for five workers."""
    folder = tmp_path_factory.mktemp("large")
    stripes = [" ".join(f"{at} 1|" for at in range(first, 4096, 2)).replace("| ", "|") for first in (0, 1)]
    truth, submission = folder / "truth.csv", folder / "submission.csv"
    truth.write_text(
        "ImageId,LabelId,EncodedPixels,Height,Width\n"
        + "".join(f"i{image},33,{stripes[0]},64,64\n" for image in range(200))
    )
    submission.write_text(
        "ImageId,LabelId,Confidence,PixelCount,EncodedPixels\n"
        + "".join(f"i{image},33,0.{image + 1},2048,{stripes[image % 3 == 0]}\n" for image in range(200))
    )
    return truth, submission


@pytest.mark.parametrize(("workers", "made"), [(1, []), (2, [1, 1]), (3, [2, 2]), (5, [2, 4])])
def test_each_further_worker_of_the_command_is_a_double(large, workers, made):
    done = spied(large, workers)
    assert json.loads(done.stderr) == made
    assert done.stdout == scored("wad-2018", *large, 1)[1]
    assert json.loads(done.stdout)["counts"]["predictions"] == 200


def test_checking_has_doubles_too(large):
    assert json.loads(spied([large[1]], 3, verb="check").stderr) == [2]


def test_no_file_takes_the_place_of_a_stream_that_doubles_give_away(large):
    command = [
        sys.executable,
        "-m",
        "segjudge",
        "check",
        "wad-2018",
        str(large[1]),
        "--json",
        "--workers",
        "3",
    ]
    whole = subprocess.run(command, capture_output=True, check=True, timeout=60)
    done = subprocess.run(
        command, stdout=subprocess.PIPE, check=False, timeout=60, preexec_fn=lambda: os.close(0)
    )
    assert done.stdout == whole.stdout


MANY_CHUNKS = """
os.environ["OPENBLAS_NUM_THREADS"] = "1"
from segjudge import chunks
chunks._MOST_IMAGES = 3
"""


@pytest.mark.parametrize("form", ["zip", "tar", "tar gz", "folder"])
def test_each_double_reads_pictures_for_itself(tmp_path, form):
    """An open file that a double has from its process stands at one place for both."""
    rng = np.random.default_rng(5)
    members, rows = {}, []
    for number in range(90):
        picture = io.BytesIO()
        Image.fromarray(rng.integers(0, 2, (64, 64), np.uint8) * 255).save(picture, "png")
        members[f"masks/s{number}.png"] = picture.getvalue()
        rows.append(f"s{number},masks/s{number}.png\n")
    sides = []
    for name, column in (("truth", "Mask"), ("submission", "PredictedMask")):
        table = f"SampleID,{column}\n{''.join(rows)}".encode()
        sides.append(
            FORMS[form](tmp_path / f"{name}.{form.replace(' ', '.')}", {**members, f"{name}.csv": table})
        )
    done = spied(sides, 3, task="emoji", change=MANY_CHUNKS)
    assert json.loads(done.stderr)[-1] == 2
    assert done.stdout == scored("emoji", *sides, 1)[1]
    assert json.loads(done.stdout)["score"] == 1


def test_doubles_that_die_in_the_middle_change_nothing(large, tmp_path):
    mark = tmp_path / "died"
    dying = f"open({str(mark)!r}, 'a').close(), os.kill(os.getpid(), 9)"
    done = spied(large, 3, f"if os.getpid() != here and len(begun) > 1: {dying}")
    assert mark.exists()
    assert done.stdout == scored("wad-2018", *large, 1)[1]


def test_what_a_chunk_raises_is_told_by_the_process_itself(large):
    done = spied(large, 3, "raise FileNotFoundError(2, 'No such file or directory', 'truth.csv')")
    said = json.loads(done.stdout)["error"]
    assert said["kind"] == "usage"
    assert "truth.csv" in said["message"]
    assert "Traceback" not in done.stderr


def test_ctrl_c_leaves_no_double_behind(large, tmp_path):
    deed = f"""
    import pathlib, time
    folder = pathlib.Path({str(tmp_path)!r})
    if os.getpid() == here:
        while len(list(folder.iterdir())) < 2:
            time.sleep(0.01)
        raise KeyboardInterrupt
    (folder / str(os.getpid())).touch()
    time.sleep(600)"""
    done = spied(large, 3, deed)
    assert "interrupted" in done.stderr
    doubles = [int(mark.name) for mark in tmp_path.iterdir()]
    assert len(doubles) == 2
    for double in doubles:
        with pytest.raises(ProcessLookupError):
            os.kill(double, 0)
