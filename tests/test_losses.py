"""The loss: what is not known weighs nothing, and each map is pulled towards what is true."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from segjudge.models.losses import Objective
from segjudge.models.recipes import RECIPES
from segjudge.models.samples import Sample
from segjudge.models.targets import OFFSET_UNIT, centres, depth, instance_targets

CLASSES = (33, 36)
CELLS, PAGES, EMOJI = (RECIPES[name] for name in ("dsb-2018", "badlad", "emoji"))
INSTANCES = replace(CELLS, weights=((36, 5.0),))


def sample_of(*, ignored=(False, False), known=None, second=np.s_[9:15, 8:15]):
    """Two instances, the second of class 36, in a picture of 16 x 16 pixels."""
    owner = np.zeros((16, 16), np.int32)
    owner[2:7, 2:7], owner[second] = 1, 2
    rng = np.random.default_rng(3)
    return Sample(
        picture=rng.integers(0, 256, (16, 16, 3), dtype=np.uint8),
        planes=rng.integers(0, 16, (16, 16), dtype=np.uint8),
        owner=owner,
        depth=depth(owner, 2),
        centres=centres(owner, 2),
        areas=np.bincount(owner.ravel())[1:].astype(np.float32),
        class_ids=np.array(CLASSES),
        ignored=np.array(ignored),
        known=np.ones((16, 16), bool) if known is None else known,
    )


def outputs_for(objective, samples, seed=0):
    shape = (len(samples), objective.outputs, 16, 16)
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), requires_grad=True)


def gradient(sample, recipe=INSTANCES):
    """(outputs, h, w) whether the loss depends on what is said there."""
    objective = Objective(recipe, CLASSES)
    outputs = outputs_for(objective, [sample])
    objective.loss(outputs, objective.batch([sample])).backward()
    return (outputs.grad[0].abs() > 0).numpy()


def test_nothing_is_learnt_of_instances_beyond_the_edge():
    known = np.ones((16, 16), bool)
    known[:, 10:] = False
    pulled = gradient(sample_of(known=known))
    assert not pulled[:, ~known].any()
    assert pulled[[0, 1, 2, 3, 6]][:, known].all()


def test_nothing_is_learnt_of_ignored_instances():
    sample = sample_of(ignored=(True, False))
    pulled = gradient(sample)
    assert not pulled[:, sample.owner == 1].any()
    assert pulled[[0, 1, 2, 3, 6]][:, sample.owner != 1].all()


def test_the_way_to_the_centre_is_learnt_inside_of_instances_alone():
    sample = sample_of()
    pulled = gradient(sample)
    assert not pulled[4:6, sample.owner == 0].any()
    assert pulled[4:6, sample.owner > 0].all()


def perfect(sample):
    """What a net without fault would say."""
    targets = instance_targets(sample, CLASSES)
    shares = np.eye(3)[targets.class_index].transpose(2, 0, 1) * 20
    heat, deep = (np.log((m + 1e-6) / (1 - m + 1e-6)) for m in (targets.heat, targets.depth))
    planes = np.concatenate([shares, heat[None], targets.offset, deep[None]])
    return torch.from_numpy(planes[None].astype(np.float32))


def test_a_net_without_fault_loses_nothing_and_each_map_that_is_wrong_something():
    sample = sample_of()
    objective = Objective(INSTANCES, CLASSES)
    batch, right = objective.batch([sample]), perfect(sample)
    assert objective.outputs == right.shape[1]
    assert float(objective.loss(right, batch)) == pytest.approx(0, abs=1e-3)
    for plane in range(right.shape[1]):
        wrong = right.clone()
        wrong[:, plane] = wrong[:, plane].flip(1) + 0.5
        assert float(objective.loss(wrong, batch)) > 0.05, plane


def test_a_pixel_s_share_of_the_loss_is_the_weight_of_its_class():
    objective = Objective(INSTANCES, CLASSES)
    sample = sample_of()
    batch = objective.batch([sample])
    losses = []
    for number in (1, 2):
        wrong = perfect(sample)
        row, column = np.argwhere(sample.owner == number)[0]
        wrong[0, 4, row, column] += 100 / OFFSET_UNIT
        true = float(batch.masks[0, 1, row, column].abs())
        losses.append(float(objective.loss(wrong, batch)) * (1 + true))
    assert losses[1] / losses[0] == pytest.approx(5, rel=1e-2)


def test_an_instance_that_is_missed_costs_by_its_overlap_however_small_it_is():
    objective = Objective(replace(CELLS, weights=()), CLASSES)
    sample = sample_of(second=np.s_[12:13, 12:13])
    missed = perfect(sample)
    missed[0, :3, 12, 12] = torch.tensor([4.0, 0.0, 0.0])
    loss = float(objective.loss(missed, objective.batch([sample])))
    assert loss == pytest.approx(1 / 2 + 4 / 256, abs=0.05)  # one of two classes, and one pixel


def test_a_mask_that_is_missed_costs_by_its_overlap_however_small_it_is():
    objective = Objective(EMOJI, (0,))
    planes = np.zeros((16, 16), np.uint8)
    planes[3, 3] = 1
    batch = objective.batch([replace(sample_of(), planes=planes)])
    loss = float(objective.loss(torch.full((1, 1, 16, 16), -8.0), batch))
    assert loss == pytest.approx(1 + 8 / 256, abs=0.05)


@pytest.mark.parametrize(("recipe", "classes"), [(PAGES, (0, 1, 2, 3)), (EMOJI, (0,))])
def test_each_bit_of_the_planes_is_a_mask_to_learn(recipe, classes):
    samples = [sample_of(), sample_of()]
    objective = Objective(recipe, classes)
    batch = objective.batch(samples)
    bits = np.stack([samples[0].planes >> plane & 1 for plane in range(len(classes))])
    assert objective.outputs == len(classes)
    assert np.array_equal(batch.masks[1].numpy(), bits)
    right = (batch.masks * 2 - 1) * 20
    assert float(objective.loss(right, batch)) == pytest.approx(0, abs=1e-3)
    for plane in range(len(classes)):
        wrong = right.clone()
        wrong[:, plane] *= -1
        assert float(objective.loss(wrong, batch)) > 1
