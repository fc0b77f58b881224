"""Files of weights: what is in them, who may read them, and nets that they fit."""

import stat

import pytest

from segjudge.errors import UsageError
from segjudge.models.building import initialise, load_weights, save_weights, weights_note
from segjudge.models.nets import build_net, stride_of
from segjudge.models.recipes import NETS, RECIPES

NOTES = {"task": "emoji", "seeds": [1, 2], "licence": "Apache-2.0", "plan": {"steps": 3}, "metric": 0.5}


@pytest.fixture(scope="module")
def net():
    return build_net("small", RECIPES["emoji"], 1)


def test_the_same_weights_and_notes_give_the_same_file_for_all_to_read(net, tmp_path):
    files = [tmp_path / f"{k}.safetensors" for k in range(6)]
    for file in files:
        save_weights(net, file, half=True, notes=NOTES)
    assert len({file.read_bytes() for file in files}) == 1
    assert weights_note(files[0]) == NOTES
    (tmp_path / "plain").touch()
    assert stat.S_IMODE(files[0].stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)
    assert files[0].stat().st_size < 2.1e6


def test_weights_come_back_as_they_were(net, tmp_path):
    save_weights(net, tmp_path / "it.safetensors")
    other = build_net("small", RECIPES["emoji"], 1)
    load_weights(other, tmp_path / "it.safetensors")
    assert all((values == net.state_dict()[name]).all() for name, values in other.state_dict().items())
    assert weights_note(tmp_path / "it.safetensors") == {}


def test_weights_of_another_task_fit_but_for_the_last_layer(net, tmp_path):
    save_weights(net, tmp_path / "it.safetensors")
    cells = build_net("small", RECIPES["dsb-2018"], 6)
    said, learnt = initialise(cells, str(tmp_path / "it.safetensors"), "dsb-2018")
    assert ("2 of" in said, learnt) == (True, True)
    assert (cells.state_dict()["unfold.weight"] == net.state_dict()["unfold.weight"]).all()
    with pytest.raises(UsageError, match="of another net"):
        load_weights(cells, tmp_path / "it.safetensors")


def test_what_holds_no_weights_is_told(net, tmp_path):
    (tmp_path / "text.safetensors").write_text("no weights")
    for init, words in (("text.safetensors", "holds no weights"), ("nothing", "no weights at")):
        with pytest.raises(UsageError, match=words):
            initialise(net, str(tmp_path / init), "emoji")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("name", NETS)
def test_every_net_takes_a_picture_of_its_stride(name):
    import torch

    built = build_net(name, RECIPES["dsb-2018"], 6).eval()
    side = stride_of(built)
    with torch.inference_mode():
        assert built(torch.zeros(1, 3, 2 * side, 3 * side)).shape == (1, 6, 2 * side, 3 * side)
