"""Datasets: every folder as the competitions ship it, what is told of others, and splits that do not leak."""

import dataclasses
import errno
import io
import json
import pickle
import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import segjudge as sj
from segjudge.data import TASKS, make, scenes
from segjudge.datasets import Dataset, Labels, open_dataset, split
from segjudge.datasets.frames import _joined
from segjudge.formats.pictures import PictureFault, colour_size, read_colours

SMALL = {"wad-2018": (226, 282), "badlad": (420, 300), "dsb-2018": (128, 160), "emoji": (96, 96)}
IMAGES = {"wad-2018": 7, "badlad": 2, "dsb-2018": 3, "emoji": 3}
PICTURE = np.arange(6 * 8 * 3, dtype=np.uint8).reshape(6, 8, 3)


def opened(task_id, folder, *, need_truth=True):
    return open_dataset(sj.load_task(task_id), folder, need_truth=need_truth)


@pytest.fixture(scope="module", params=TASKS)
def task_set(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param) / "set"
    make(request.param, folder, images=IMAGES[request.param], seed=5, size=SMALL[request.param])
    return request.param, folder


def drawn(task_id):
    return list(scenes(task_id, images=IMAGES[task_id], seed=5, size=SMALL[task_id]))


def saved(path, pixels=PICTURE, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.asarray(pixels)).save(path, **options)
    return path


def png(pixels, **options):
    file = io.BytesIO()
    picture = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    picture.save(file, "PNG", **options)
    return file.getvalue()


# ------------------------------------------------------------------------------ what make-data writes


def test_a_made_set_opens_with_its_truth_and_without(task_set):
    task_id, folder = task_set
    for need_truth in (True, False):
        dataset = opened(task_id, folder, need_truth=need_truth)
        assert dataset.labelled is need_truth
        assert len(dataset) == len(dataset.groups) == IMAGES[task_id]
        assert dataset.notes == ()
        for place in range(len(dataset)):
            picture = dataset.picture(place)
            assert picture.dtype == np.uint8
            assert picture.shape == (*SMALL[task_id], 3) == (*dataset.shape(place), 3)


def test_pictures_and_truth_of_a_made_set_are_those_of_its_scenes(task_set):
    task_id, folder = task_set
    dataset = opened(task_id, folder)
    found = [(dataset.picture(place), dataset.truth(place)) for place in range(len(dataset))]
    for scene in drawn(task_id):
        if task_id == "wad-2018":  # JPEG
            picture, truth = found.pop(0)
            assert np.abs(picture.astype(int) - scene.picture).mean() < 4
        else:
            equal = [n for n, (p, _) in enumerate(found) if np.array_equal(p, scene.picture[..., :3])]
            _, truth = found.pop(equal[0])
        if isinstance(truth, Labels):
            evaluated = np.concatenate([[False], ~truth.ignored])
            assert np.array_equal(evaluated[truth.owner], scene.owner > 0)
            assert sorted(truth.class_ids[~truth.ignored]) == sorted(c for _, c in scene.masks())
        elif task_id == "emoji":
            assert np.array_equal(truth[..., 0], scene.owner > 0)
        else:
            for plane, class_id in enumerate((0, 1, 2, 3)):
                own = np.isin(scene.owner, np.flatnonzero(scene.class_ids == class_id) + 1)
                assert not (own & ~truth[..., plane]).any()
    assert found == []


def test_each_instance_has_a_number_and_a_pixel(task_set):
    task_id, folder = task_set
    dataset = opened(task_id, folder)
    truth = dataset.truth(0)
    if not isinstance(truth, Labels):
        assert truth.dtype == np.bool_
        assert truth.shape == (*SMALL[task_id], 4 if task_id == "badlad" else 1)
        return
    assert (truth.owner.dtype, truth.class_ids.dtype, truth.ignored.dtype) == (np.int32, np.int64, np.bool_)
    assert np.unique(truth.owner[truth.owner > 0]).tolist() == list(range(1, len(truth.class_ids) + 1))
    assert len(truth.ignored) == len(truth.class_ids) > 0


def test_a_dataset_goes_to_another_process_and_reads_there(task_set):
    task_id, folder = task_set
    dataset = opened(task_id, folder)
    again = pickle.loads(pickle.dumps(dataset))
    for mine, other in zip(parts(dataset.truth(1)), parts(again.truth(1)), strict=True):
        assert np.array_equal(mine, other)


def parts(truth):
    return (truth.owner, truth.class_ids, truth.ignored) if isinstance(truth, Labels) else (truth,)


def test_the_fingerprint_is_the_content_s_not_the_place_s_or_the_time_s(task_set, tmp_path):
    task_id, folder = task_set
    before = opened(task_id, folder).fingerprint()
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy, copy_function=shutil.copyfile)
    dataset = opened(task_id, copy)
    assert dataset.fingerprint() == before
    path = dataset.truth_files[-1]
    data = bytearray(path.read_bytes())
    data[len(data) // 2 if path.suffix == ".json" else -10] ^= 1
    path.write_bytes(data)
    assert dataset.fingerprint() != before


def test_a_dataset_says_in_a_line_what_it_is(task_set):
    task_id, folder = task_set
    shown = repr(opened(task_id, folder))
    assert shown.startswith(f"Dataset({task_id}: {IMAGES[task_id]} images")
    assert shown.endswith(", labelled)")
    assert ("in 2 groups" in shown) is (task_id == "wad-2018")


def test_truth_that_was_not_opened_is_an_error(task_set):
    task_id, folder = task_set
    with pytest.raises(sj.UsageError, match="have no truth"):
        opened(task_id, folder, need_truth=False).truth(0)


# --------------------------------------------------------------------------------------- plain folders


@pytest.mark.parametrize("task_id", TASKS)
@pytest.mark.parametrize("inside", ["", "test", "images"])
def test_a_folder_of_pictures_will_do_for_prediction(task_id, inside, tmp_path):
    saved(tmp_path / inside / "0012.png")
    saved(tmp_path / inside / "b.JPG", format="JPEG")
    (tmp_path / inside / "notes.txt").write_text("no picture", encoding="utf-8")
    (tmp_path / inside / "._b.JPG").write_bytes(b"left by a Mac")
    dataset = opened(task_id, tmp_path, need_truth=False)
    assert dataset.image_ids == dataset.groups == ("0012", "b")
    assert np.array_equal(dataset.picture(0), PICTURE)
    assert dataset.shape(1) == (6, 8)


@pytest.mark.parametrize("task_id", TASKS)
@pytest.mark.parametrize("need_truth", [True, False])
def test_a_wrong_folder_is_told_with_what_was_sought_and_what_is_there(task_id, need_truth, tmp_path):
    folder = tmp_path / "downloads"
    (folder / "holidays").mkdir(parents=True)
    (folder / "holidays" / "a.txt").write_text("sun", encoding="utf-8")
    (folder / "thesis.pdf").write_bytes(b"%PDF")
    with pytest.raises(sj.UsageError) as caught:
        opened(task_id, folder, need_truth=need_truth)
    message = str(caught.value)
    assert "downloads is no data of" in message
    assert task_id in message
    assert "found holidays/ (1), thesis.pdf" in message
    sought = {"wad-2018": "train_label", "badlad": "annotations", "dsb-2018": "masks/", "emoji": "SampleID"}
    assert (sought[task_id] if need_truth else "pictures") in message


def test_of_a_wrong_folder_with_many_long_names_a_few_are_shown_short(tmp_path):
    for number in range(6):
        (tmp_path / f"{number}{'0123456789abcdef' * 4}").mkdir()
    with pytest.raises(sj.UsageError) as caught:
        opened("emoji", tmp_path)
    found = caught.value.message.partition("; found ")[2]
    names = ", ".join(f"{number}0123456789abc…3456789abcdef/ (0)" for number in range(4))
    assert found == f"{names} and 2 more."


@pytest.mark.parametrize("task_id", TASKS)
def test_no_folder_a_file_and_an_empty_folder_are_told_apart(task_id, tmp_path):
    with pytest.raises(sj.UsageError, match="it does not exist"):
        opened(task_id, tmp_path / "none")
    (tmp_path / "set.zip").write_bytes(b"PK")
    with pytest.raises(sj.UsageError, match="unpack"):
        opened(task_id, tmp_path / "set.zip")
    (tmp_path / "empty").mkdir()
    with pytest.raises(sj.UsageError, match="found nothing in it"):
        opened(task_id, tmp_path / "empty")


def test_a_task_whose_folders_are_unknown_is_told_so(tmp_path):
    task = sj.load_task("dsb-2018")
    strange = dataclasses.replace(
        task, id="strange", truth=dataclasses.replace(task.truth, label_map=None, mask_folders=False)
    )
    with pytest.raises(sj.UsageError, match="strange cannot be opened"):
        open_dataset(strange, tmp_path, need_truth=True)


# ---------------------------------------------------------------------------------------- WAD's frames

FRAMES = (
    "170908_061500000_Camera_5",
    "170908_061501000_Camera_5",
    "170908_061503500_Camera_6",
    "170908_061504000_Camera_5",
    "170908_071504000_Camera_5",
)


def street(folder, labelled=FRAMES, pictures=FRAMES):
    for number, name in enumerate(pictures):
        saved(folder / "train_color" / f"{name}.jpg", PICTURE + np.uint8(number))
    values = np.full((6, 8), 255, np.uint16)
    values[0, :3], values[1, :2], values[2, 4:], values[3, 5], values[5] = 33001, 36000, 161, 65535, 37002
    for name in labelled:
        saved(folder / "train_label" / f"{name}_instanceIds.png", values)
    return folder


def listed(folder, clip, names, ending="\n"):
    (folder / "train_video_list").mkdir(exist_ok=True)
    place = "road01_ins\\{}\\Record011\\Camera 5\\{}"
    lines = [
        place.format("ColorImage", f"{n}.jpg") + "\t" + place.format("Label", f"{n}_instanceIds.png")
        for n in names
    ]
    path = folder / "train_video_list" / f"{clip}_image_list_train.txt"
    path.write_text("\r\n".join(lines) + ending, encoding="utf-8", newline="")


def test_label_maps_give_instances_and_ignored_regions(tmp_path):
    truth = opened("wad-2018", street(tmp_path)).truth(0)
    assert truth.class_ids[~truth.ignored].tolist() == [33, 36]
    assert truth.class_ids[truth.ignored].tolist() == [33, 0]  # a group of cars, and nothing's in particular
    owned = np.array([0, *truth.class_ids])[truth.owner]
    assert owned[0, :3].tolist() == [33, 33, 33]
    assert owned[2, 4:].tolist() == [33] * 4
    assert truth.owner[3, 5] > 0
    assert not truth.owner[5].any()  # a rider is background


def test_lists_name_clips_by_paths_of_windows_and_names_that_are_not_there_are_counted(tmp_path):
    street(tmp_path)
    listed(tmp_path, "road01_cam_5_video_1", [FRAMES[0], "170908_061500400_Camera_5", FRAMES[4]])
    listed(tmp_path, "road01_cam_5_video_2", [*FRAMES[1:4], "gone"], ending="")
    dataset = opened("wad-2018", tmp_path)
    first, second = "road01_cam_5_video_1", "road01_cam_5_video_2"
    assert dataset.groups == (first, second, second, second, first)
    assert dataset.notes == ("Images that the lists name and that are not there: 2.",)


def test_a_table_of_images_tells_clips_before_the_lists(tmp_path):
    street(tmp_path)
    listed(tmp_path, "clip_of_lists", FRAMES)
    rows = [f"{name},6,8,clip_{number % 2}" for number, name in enumerate(FRAMES)]
    (tmp_path / "images.csv").write_text("\n".join(["ImageId,Height,Width,Clip", *rows]), encoding="utf-8")
    assert opened("wad-2018", tmp_path).groups == ("clip_0", "clip_1", "clip_0", "clip_1", "clip_0")


def test_frames_in_no_list_are_of_one_clip_while_one_camera_goes_on(tmp_path):
    dataset = opened("wad-2018", street(tmp_path))
    assert dataset.groups == (FRAMES[0], FRAMES[0], FRAMES[2], FRAMES[0], FRAMES[4])
    assert dataset.notes[0].startswith("Images in no clip's list: 5.")


def test_clips_that_two_cameras_took_at_once_are_one(tmp_path):
    names = [f"170908_0615{second:02}{rest}_Camera_{camera}" for camera, rest in ((5, "000"), (6, "080"))
             for second in range(4)]  # fmt: skip
    names.append("170908_081500000_Camera_6")
    street(tmp_path, names, names)
    listed(tmp_path, "cam_5", names[:4])
    listed(tmp_path, "cam_6", names[4:8])
    listed(tmp_path, "later", names[8:])
    dataset = opened("wad-2018", tmp_path)
    assert dataset.groups == ("cam_5",) * 8 + ("later",)
    assert dataset.notes == ("Clips that another camera took at the same time, counted as one with its: 1.",)


@given(st.lists(st.tuples(st.integers(0, 6), st.sampled_from("abcde")), min_size=1))
def test_joined_clips_share_no_second_with_others(frames):
    clips = {f"170908_0615{second:02}{n:03}_Camera_5": clip for n, (second, clip) in enumerate(frames)}
    joined = _joined(clips)
    by_second, by_clip = {}, {}
    for image, clip in clips.items():
        assert by_second.setdefault(image[:13], joined[image]) == joined[image]
        assert by_clip.setdefault(clip, joined[image]) == joined[image]


def test_names_that_tell_no_time_are_a_clip_each(tmp_path):
    names = ("999999_999999000_Camera_5", "b", "a")
    assert opened("wad-2018", street(tmp_path, names, names)).groups == (
        "999999_999999000_Camera_5",
        "a",
        "b",
    )


def test_pictures_and_label_maps_without_one_another_are_left_out_and_counted(tmp_path):
    street(tmp_path, labelled=[*FRAMES[:3], "stray", "stray2"])
    listed(tmp_path, "v", FRAMES)
    dataset = opened("wad-2018", tmp_path)
    assert dataset.image_ids == FRAMES[:3]
    assert "Pictures without a label map, left out: 2." in dataset.notes
    assert "Label maps without a picture, left out: 2." in dataset.notes


def test_test_frames_are_taken_for_prediction_where_there_are_any(tmp_path):
    street(tmp_path)
    saved(tmp_path / "test" / "00a3f1.jpg")
    dataset = opened("wad-2018", tmp_path, need_truth=False)
    assert (dataset.image_ids, dataset.notes) == (("00a3f1",), ())


def test_pictures_and_label_maps_of_other_names_are_told(tmp_path):
    street(tmp_path, labelled=["x"], pictures=["y"])
    with pytest.raises(sj.UsageError, match="belongs to x_instanceIds"):
        opened("wad-2018", tmp_path)


def test_two_pictures_of_one_name_are_told(tmp_path):
    street(tmp_path)
    saved(tmp_path / "train_color" / f"{FRAMES[0]}.png")
    with pytest.raises(sj.UsageError, match="Two pictures belong"):
        opened("wad-2018", tmp_path)


def test_a_label_map_of_another_size_is_the_truth_s_fault(tmp_path):
    street(tmp_path)
    saved(tmp_path / "train_color" / f"{FRAMES[0]}.jpg", PICTURE[:, :7])
    with pytest.raises(sj.TruthError, match="6 rows x 8 columns, the picture 6 rows x 7"):
        opened("wad-2018", tmp_path).truth(0)


def test_a_label_map_that_is_none_is_the_truth_s_fault_at_once(tmp_path):
    street(tmp_path)
    (tmp_path / "train_label" / f"{FRAMES[1]}_instanceIds.png").write_bytes(b"<html>")
    with pytest.raises(sj.TruthError, match="not-png"):
        opened("wad-2018", tmp_path)


# -------------------------------------------------------------------------------------- BaDLAD's pages


def annotated(path, images, rings):
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = {
        "images": [{"id": i, "file_name": name, "height": 6, "width": 8} for i, name in images],
        "categories": [{"id": 0, "name": "paragraph"}, {"id": 1, "name": "text_box"}],
    }
    if rings is not None:
        whole["annotations"] = [
            {"id": n, "image_id": i, "category_id": c, "segmentation": [ring], "iscrowd": 0}
            for n, (i, c, ring) in enumerate(rings)
        ]
    path.write_text(json.dumps(whole), encoding="utf-8")


SQUARE = [1, 1, 4, 1, 4, 3, 1, 3]


@pytest.fixture
def bengali(tmp_path):
    for name in ("train/aa.png", "train/bb.png", "test/cc.png", "test/aa.png"):
        saved(tmp_path / "images" / name, PICTURE + np.uint8(len(name)))
    annotated(
        tmp_path / "labels" / "coco_format" / "train" / "badlad-train-coco.json",
        [(7, "aa.png"), (9, "bb.png"), (11, "gone.png")],
        [(7, 1, SQUARE), (7, 1, [2, 2, 6, 2, 6, 5, 2, 5]), (9, 0, SQUARE)],
    )
    annotated(tmp_path / "badlad-test-metadata.json", [(0, "cc.png"), (3, "aa.png")], None)
    return tmp_path


def test_pages_are_named_by_their_number_and_found_by_their_file_s_name(bengali):
    dataset = opened("badlad", bengali)
    assert dataset.image_ids == ("7", "9")
    assert [path.parent.name for path in dataset.files] == ["train", "train"]
    assert dataset.notes == ("Images that badlad-train-coco.json names and that are not there: 1.",)
    first, second = dataset.truth(0), dataset.truth(1)
    assert first.shape == (6, 8, 4)
    assert first[..., 1].sum() == 6 + 12 - 2  # two text boxes that share two pixels
    assert first[..., [0, 2, 3]].sum() == 0
    assert second[1:3, 1:4, 0].all()
    assert second.sum() == 6


def test_test_pages_are_those_of_the_list_without_annotations(bengali):
    dataset = opened("badlad", bengali, need_truth=False)
    assert dataset.image_ids == ("0", "3")
    assert [path.parent.name for path in dataset.files] == ["test", "test"]


def test_pages_may_be_named_by_their_files(bengali):
    task = sj.load_task("badlad").with_settings(["image_key=file_name"])
    assert open_dataset(task, bengali, need_truth=True).image_ids == ("aa", "bb")


def test_a_table_of_runs_tells_of_pages_too(tmp_path):
    make("badlad", tmp_path / "set", images=2, seed=5, size=SMALL["badlad"])
    drawn_by_rings = [opened("badlad", tmp_path / "set").truth(place) for place in range(2)]
    (tmp_path / "set" / "annotations.json").unlink()
    dataset = opened("badlad", tmp_path / "set")
    assert dataset.image_ids == ("0", "1")
    for place in range(2):
        assert np.array_equal(dataset.truth(place), drawn_by_rings[place])


def test_runs_beyond_the_picture_are_the_truth_s_fault(tmp_path):
    saved(tmp_path / "images" / "p.png")
    (tmp_path / "truth.csv").write_text("Id,Predicted\np_0,48 2\n", encoding="utf-8")
    with pytest.raises(sj.TruthError, match="49 pixels or more, the picture 6 rows x 8"):
        opened("badlad", tmp_path).truth(0)


def test_faulty_annotations_are_left_out_and_told(tmp_path):
    saved(tmp_path / "images" / "0.png")
    annotated(tmp_path / "a.json", [(0, "0.png")], [(0, 1, SQUARE), (0, 1, [1, 2])])
    dataset = opened("badlad", tmp_path)
    assert dataset.notes[0].startswith("Faults of a.json, left out: 1; the first: a.json[1]")
    assert dataset.truth(0).sum() == 6


def test_pages_that_the_list_does_not_name_are_left_out_and_counted(tmp_path):
    saved(tmp_path / "images" / "0.png")
    saved(tmp_path / "images" / "1.png")
    annotated(tmp_path / "a.json", [(0, "0.png")], [])
    dataset = opened("badlad", tmp_path)
    assert dataset.image_ids == ("0",)
    assert dataset.notes == ("Pictures that a.json does not name, left out: 1.",)


def test_pages_without_a_list_go_by_their_names_and_that_is_told(tmp_path):
    saved(tmp_path / "0f3a.png")
    dataset = opened("badlad", tmp_path, need_truth=False)
    assert dataset.image_ids == ("0f3a",)
    assert "No list of the images" in dataset.notes[0]


def test_two_truths_of_pages_are_told_by_name(tmp_path):
    for name in ("a.json", "b.json"):
        annotated(tmp_path / name, [(0, "0.png")], [])
    with pytest.raises(sj.UsageError, match=r"any of a\.json, b\.json"):
        opened("badlad", tmp_path)


def test_annotations_that_end_too_early_are_told(tmp_path):
    saved(tmp_path / "images" / "0.png")
    (tmp_path / "a.json").write_text('{"images": [', encoding="utf-8")
    with pytest.raises(sj.UsageError, match=r"not readable: a\.json \(The JSON ends too early"):
        opened("badlad", tmp_path)


def test_a_list_of_pages_that_are_elsewhere_is_told(tmp_path):
    annotated(tmp_path / "a.json", [(0, "pages/xx.png")], [])
    with pytest.raises(sj.UsageError, match=r"the pictures that a\.json names, such as xx\.png"):
        opened("badlad", tmp_path)


# ----------------------------------------------------------------------------------------- DSB's nuclei


def nucleus(folder, name, *masks, picture=None):
    saved(folder / name / "images" / f"{name}.png", PICTURE if picture is None else picture)
    (folder / name / "masks").mkdir()
    for number, pixels in enumerate(masks):
        saved(folder / name / "masks" / f"m{number}.png", pixels)


def box(top, left, bottom, right):
    mask = np.zeros((6, 8), np.uint8)
    mask[top:bottom, left:right] = 255
    return mask


def test_masks_that_overlap_go_to_the_later_and_one_wholly_hidden_is_no_instance(tmp_path):
    nucleus(tmp_path, "a", box(0, 0, 2, 2), box(0, 0, 3, 3), box(2, 2, 5, 5))
    truth = opened("dsb-2018", tmp_path).truth(0)
    assert truth.class_ids.tolist() == [0, 0]
    assert truth.owner[:4, :4].tolist() == [[1, 1, 1, 0], [1, 1, 1, 0], [1, 1, 2, 2], [0, 0, 2, 2]]


def test_an_empty_folder_of_masks_says_that_there_is_no_object_and_none_says_nothing(tmp_path):
    nucleus(tmp_path, "a", box(0, 0, 2, 2))
    nucleus(tmp_path, "b")
    saved(tmp_path / "c" / "images" / "c.png")
    dataset = opened("dsb-2018", tmp_path)
    assert dataset.image_ids == ("a", "b")
    assert dataset.notes == ("Images without a folder of masks, left out: 1.",)
    assert not dataset.truth(1).owner.any()
    assert opened("dsb-2018", tmp_path, need_truth=False).image_ids == ("a", "b", "c")


def test_both_stages_lie_in_one_folder_as_shipped(tmp_path):
    nucleus(tmp_path / "stage1_train", "a", box(0, 0, 2, 2))
    saved(tmp_path / "stage1_test" / "t" / "images" / "t.png")
    assert opened("dsb-2018", tmp_path).image_ids == ("a",)
    assert opened("dsb-2018", tmp_path, need_truth=False).image_ids == ("t",)


def test_transparency_and_palettes_do_not_change_how_many_channels_there_are(tmp_path):
    clear = np.dstack([PICTURE, np.arange(48, dtype=np.uint8).reshape(6, 8)])
    nucleus(tmp_path, "a", box(0, 0, 2, 2), picture=clear)
    assert np.array_equal(opened("dsb-2018", tmp_path).picture(0), PICTURE)


def test_two_pictures_in_an_image_s_folder_are_told(tmp_path):
    nucleus(tmp_path, "a", box(0, 0, 2, 2))
    saved(tmp_path / "a" / "images" / "again.png")
    with pytest.raises(sj.UsageError, match="holds 2 pictures"):
        opened("dsb-2018", tmp_path)


# --------------------------------------------------------------------------------------- emoji's tables


def sampled(folder, train, test=""):
    saved(folder / "data" / "images" / "p.png")
    saved(folder / "data" / "masks" / "m.png", box(0, 0, 2, 2))
    (folder / "data" / "train.csv").write_text(train, encoding="utf-8")
    if test:
        (folder / "data" / "test.csv").write_text(test, encoding="utf-8")
    return folder


def test_paths_count_from_the_folder_or_from_the_table_and_test_samples_have_no_mask(tmp_path):
    sampled(
        tmp_path,
        "SampleID,Path,Mask\n007,images/p.png,masks/m.png\n",
        "SampleID,Path\n8,data/images/p.png\n",
    )
    for folder in (tmp_path, tmp_path / "data"):
        dataset = opened("emoji", folder)
        assert dataset.image_ids == ("007",)
        assert dataset.truth(0).sum() == 4
    assert opened("emoji", tmp_path, need_truth=False).image_ids == ("8",)


@pytest.mark.parametrize(
    ("train", "words"),
    [
        ("SampleID,Path,Mask\n1,images/p.png,masks/m.png\n1,images/p.png,masks/m.png\n", "line 2 already"),
        (
            "SampleID,Path,Mask\n1,images/q.png,masks/m.png\n",
            r"csv:2: Path: There is no file .* Paths count from the folder",
        ),
        ("SampleID,Path,Mask\n1,images/p.png,masks/n.png\n", r"train\.csv:2: Mask: There is no file"),
        ("SampleID,Path,Mask\n1,../p.png,masks/m.png\n", "leads out"),
        ("SampleID,Path,Mask\n1,images/p.png\n", "2 fields"),
        ("SampleID,Path,Mask\n", "has no rows"),
        ("SampleID,Mask\n1,masks/m.png\n", "a CSV with the columns SampleID, Path, Mask"),
    ],
)
def test_what_is_wrong_with_a_table_of_samples_is_told_with_its_line(train, words, tmp_path):
    with pytest.raises(sj.UsageError, match=words):
        opened("emoji", sampled(tmp_path, train))


def test_two_tables_of_masks_are_told_by_name(tmp_path):
    sampled(tmp_path, "SampleID,Path,Mask\n1,images/p.png,masks/m.png\n")
    shutil.copy(tmp_path / "data" / "train.csv", tmp_path / "data" / "again.csv")
    with pytest.raises(sj.UsageError, match=r"once; it is in again\.csv, train\.csv"):
        opened("emoji", tmp_path)


def test_a_mask_of_three_values_is_the_truth_s_fault(tmp_path):
    sampled(tmp_path, "SampleID,Path,Mask\n1,images/p.png,images/p.png\n")
    with pytest.raises(sj.TruthError, match="mask-not-binary"):
        opened("emoji", tmp_path).truth(0)


# -------------------------------------------------------------------------------------------- pictures


def test_every_kind_of_png_is_three_channels_of_eight_bits():
    gray = PICTURE[..., 0]
    repeated = np.repeat(gray[..., None], 3, axis=2)
    assert np.array_equal(read_colours(png(PICTURE)), PICTURE)
    assert np.array_equal(read_colours(png(gray)), repeated)
    assert np.array_equal(read_colours(png(gray.astype(np.uint16) * 257)), repeated)
    assert np.array_equal(read_colours(png(np.dstack([gray, 255 - gray]))), repeated)
    assert (
        read_colours(png(Image.fromarray(gray > 100))).tolist()
        == (repeated > 100).astype(int).__mul__(255).tolist()
    )
    indexed = Image.fromarray(PICTURE).quantize(16)
    assert np.array_equal(read_colours(png(indexed, transparency=0)), np.asarray(indexed.convert("RGB")))


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 20), st.integers(1, 20), st.sampled_from(["L", "RGB", "CMYK"]), st.integers(1, 8))
def test_a_jpeg_is_never_turned_and_its_size_is_known_from_its_head(height, width, mode, turn):
    exif = Image.Exif()
    exif[0x0112] = turn
    file = io.BytesIO()
    Image.new(mode, (width, height)).save(file, "JPEG", exif=exif)
    assert colour_size(file.getvalue()) == (height, width)
    assert read_colours(file.getvalue()).shape == (height, width, 3)


@pytest.mark.parametrize("mode", ["L", "RGB", "CMYK"])
def test_jpegs_of_any_channels_show_the_colours_that_a_viewer_shows(mode):
    file = io.BytesIO()
    Image.fromarray(PICTURE).resize((64, 64)).convert(mode).save(file, "JPEG", quality=95)
    with Image.open(file) as picture:
        shown = np.asarray(picture.convert("RGB"), int)
    assert np.abs(read_colours(file.getvalue()) - shown).max() <= 1


def jpeg(**options):
    file = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
    Image.fromarray(noise).save(file, "JPEG", **options)
    return file.getvalue()


@settings(deadline=None, max_examples=150)
@given(st.sampled_from([jpeg(), jpeg(progressive=True), png(PICTURE)]), st.data())
def test_damaged_pictures_are_faults_and_nothing_else(data, draw):
    damaged = bytearray(data[: draw.draw(st.integers(0, len(data)))])
    for place in draw.draw(st.lists(st.integers(0, max(0, len(damaged) - 1)), max_size=4)):
        if damaged:
            damaged[place] ^= draw.draw(st.integers(1, 255))
    for read in (read_colours, colour_size):
        try:
            read(bytes(damaged))
        except PictureFault:
            continue


def test_too_many_pixels_are_refused_before_they_are_decoded():
    for data in (jpeg(), png(PICTURE)):
        with pytest.raises(PictureFault, match="the limit is 47"):
            read_colours(data, max_pixels=47)


def test_a_picture_that_cannot_be_read_is_named(tmp_path):
    saved(tmp_path / "a.png")
    dataset = opened("wad-2018", tmp_path, need_truth=False)
    (tmp_path / "a.png").write_bytes(b"\xff\xd8\xff")
    for read in (dataset.picture, dataset.shape):
        with pytest.raises(sj.UsageError, match=r"a\.png: The JPEG is damaged"):
            read(0)
    (tmp_path / "a.png").unlink()
    for read in (dataset.picture, dataset.shape):
        with pytest.raises(sj.UsageError, match=r"a\.png cannot be read"):
            read(0)


def test_a_folder_that_may_not_be_read_is_told_once(tmp_path, monkeypatch):
    def refuse(_path):
        raise PermissionError(errno.EACCES, "Permission denied", str(tmp_path))

    monkeypatch.setattr("segjudge.formats.archive.folder.walk", refuse)
    with pytest.raises(sj.UsageError) as caught:
        opened("emoji", tmp_path)
    assert caught.value.message == f"{tmp_path}: The folder cannot be read: Permission denied."
    assert caught.value.advice == "Check its permissions."


# ---------------------------------------------------------------------------------------------- splits


def of_groups(groups, folder):
    ids = tuple(map(str, range(len(groups))))
    return Dataset("wad-2018", ids, tuple(groups), (), folder, ())


@settings(deadline=None)
@given(
    groups=st.lists(st.sampled_from("abcdefghij"), min_size=2).filter(lambda names: len(set(names)) > 1),
    seed=st.integers(0, 1000),
    data=st.data(),
)
def test_splits_never_leak_and_validate_every_image_once(groups, seed, data, tmp_path_factory):
    dataset = of_groups(groups, tmp_path_factory.getbasetemp())
    folds = data.draw(st.integers(2, len(set(groups))))
    sides = [split(dataset, fold=fold, folds=folds, seed=seed) for fold in range(folds)]
    assert sorted(place for _, validation in sides for place in validation) == list(range(len(groups)))
    for train, validation in sides:
        assert sorted(train + validation) == list(range(len(groups)))
        assert train
        assert validation
        assert not {groups[place] for place in train} & {groups[place] for place in validation}
        assert train == sorted(train)
        assert validation == sorted(validation)
    sizes = [len(validation) for _, validation in sides]
    assert max(sizes) - min(sizes) <= max(groups.count(name) for name in groups)
    assert sides == [split(dataset, fold=fold, folds=folds, seed=seed) for fold in range(folds)]


def test_another_seed_splits_otherwise(tmp_path):
    dataset = of_groups([str(n) for n in range(30)], tmp_path)
    assert len({tuple(split(dataset, fold=0, folds=3, seed=seed)[1]) for seed in range(5)}) == 5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fold": 0, "folds": 1, "seed": 0}, "no fold 0 of 1"),
        ({"fold": 3, "folds": 3, "seed": 0}, "no fold 3 of 3"),
        ({"fold": -1, "folds": 3, "seed": 0}, "no fold -1"),
        ({"fold": 0, "folds": 2, "seed": -1}, "The seed is -1"),
        ({"fold": 0, "folds": 3, "seed": 0}, r"2 clips cannot be split into 3 folds\. .* \(--folds 2\)"),
    ],
)
def test_splits_that_cannot_be_are_told(options, words, tmp_path):
    with pytest.raises(sj.UsageError, match=words):
        split(of_groups(["a", "a", "b"], tmp_path), **options)
