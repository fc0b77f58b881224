"""Scenes to try things on: tiny ones that Hypothesis can shrink, larger ones from a seed.

Masks are never empty, image ids are safe as file names, and confidences are decimal texts that tie often.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from hypothesis import strategies as st

from tests.reference.scene import EVERY_CLASS, RIDER, WAD_CLASSES, Image, Scene, Thing

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from tests.reference.scene import Pixels

Disjoint: TypeAlias = bool | Literal["class"]
"""True: no two things of an image share a pixel; "class": no two of one class id; False: anything goes."""

IDS = ("img_a", "0012", "12", "3e5", "b", "img_b_1", "Z", "a.b")
"""Ids are text, always; some of these look like numbers, one looks like an id with a class."""

CONFIDENCES = ("0.5", "0.9", "1", "0.1", "0.50", "5e-1", "0", "0.25")
"""0.5 has three spellings, so that equal confidences need not be equal texts."""

WAD_IGNORED = (EVERY_CLASS, *WAD_CLASSES, RIDER)


# --- tiny scenes, drawn -------------------------------------------------------------------------------------


@st.composite
def masks(draw: st.DrawFn, height: int, width: int, allowed: Sequence[int] | None = None) -> Pixels:
    """A mask with at least one pixel: a rectangle or scattered pixels, of the allowed ones."""
    allowed = range(height * width) if allowed is None else allowed
    if draw(st.booleans()):
        top = draw(st.integers(0, height - 1))
        left = draw(st.integers(0, width - 1))
        bottom = draw(st.integers(top, height - 1))
        right = draw(st.integers(left, width - 1))
        rectangle = {
            row * width + column for row in range(top, bottom + 1) for column in range(left, right + 1)
        }
        if inside := rectangle.intersection(allowed):
            return frozenset(inside)
    return draw(st.frozensets(st.sampled_from(allowed), min_size=1))


@st.composite
def near(draw: st.DrawFn, pixels: Pixels, height: int, width: int) -> Pixels:
    """A mask that differs from the given one in a few pixels, so that the overlap is worth measuring."""
    changed = draw(st.frozensets(st.integers(0, height * width - 1), max_size=max(1, len(pixels) // 2)))
    return (pixels ^ changed) or pixels


def free_pixels(image: Image, things: Sequence[Thing], class_id: int, disjoint: Disjoint) -> list[int]:
    """The pixels that one more thing of the image may still have."""
    in_the_way = [
        thing
        for thing in things
        if thing.image == image.id and (disjoint is True or (disjoint and thing.class_id == class_id))
    ]
    taken = {pixel for thing in in_the_way for pixel in thing.pixels}
    return [pixel for pixel in range(image.height * image.width) if pixel not in taken]


@st.composite
def images(
    draw: st.DrawFn,
    *,
    min_images: int = 1,
    max_images: int = 3,
    max_height: int = 6,
    max_width: int = 8,
    clips: Sequence[str] = ("",),
) -> tuple[Image, ...]:
    """A few images, each of its own size and of one of the clips."""
    ids = draw(st.lists(st.sampled_from(IDS), min_size=min_images, max_size=max_images, unique=True))
    return tuple(
        Image(
            image_id,
            draw(st.integers(1, max_height)),
            draw(st.integers(1, max_width)),
            draw(st.sampled_from(clips)),
        )
        for image_id in ids
    )


@st.composite
def scenes(
    draw: st.DrawFn,
    *,
    classes: Sequence[int] = WAD_CLASSES[:2],
    ignored: Sequence[int] = (),
    disjoint_truths: Disjoint = True,
    disjoint_predictions: Disjoint = False,
    max_instances: int = 4,
    max_images: int = 3,
    max_height: int = 6,
    max_width: int = 8,
    clips: Sequence[str] = ("",),
    confidences: Sequence[str] = CONFIDENCES,
    distinct_confidences: bool = False,
) -> Scene:
    """A small scene: up to `max_instances` truths and as many predictions in each image.

    `ignored` lists the class ids that an ignored region may have (`WAD_IGNORED` for all of WAD's); an empty
    one means that there are no such regions. `distinct_confidences` gives no two predictions of the scene
    the same confidence, in no particular order. Predictions of different images are interleaved.
    """
    drawn = draw(images(max_images=max_images, max_height=max_height, max_width=max_width, clips=clips))
    truths: list[Thing] = []
    predictions: list[Thing] = []
    for image in drawn:
        for _ in range(draw(st.integers(0, max_instances))):
            is_ignored = bool(ignored) and draw(st.integers(0, 3)) == 3
            class_id = draw(st.sampled_from(ignored if is_ignored else classes))
            if free := free_pixels(image, truths, class_id, disjoint_truths):
                pixels = draw(masks(image.height, image.width, free))
                truths.append(Thing(image.id, class_id, pixels, ignored=is_ignored))
        models = [thing for thing in truths if thing.image == image.id]
        for _ in range(draw(st.integers(0, max_instances))):
            class_id = draw(st.sampled_from(classes))
            if models and draw(st.integers(0, 3)) > 0:
                model = draw(st.sampled_from(models))
                pixels = draw(near(model.pixels, image.height, image.width))
                if model.class_id in classes and draw(st.integers(0, 3)) > 0:
                    class_id = model.class_id
            else:
                pixels = draw(masks(image.height, image.width))
            if pixels := pixels & frozenset(free_pixels(image, predictions, class_id, disjoint_predictions)):
                predictions.append(Thing(image.id, class_id, pixels, draw(st.sampled_from(confidences))))
    if distinct_confidences:
        ranks = draw(st.permutations(range(len(predictions))))
        predictions = [
            Thing(thing.image, thing.class_id, thing.pixels, f"0.{rank + 1:03d}")
            for rank, thing in zip(ranks, predictions, strict=True)
        ]
    return Scene(drawn, tuple(truths), tuple(draw(st.permutations(predictions))))


# --- larger scenes, from a seed -----------------------------------------------------------------------------


def rectangle(rng: np.random.Generator, image: Image) -> tuple[int, int, int, int]:
    """Top, left, height and width of a box of up to half the image either way."""
    height = int(rng.integers(1, max(1, image.height // 2) + 1))
    width = int(rng.integers(1, max(1, image.width // 2) + 1))
    return (
        int(rng.integers(0, image.height - height + 1)),
        int(rng.integers(0, image.width - width + 1)),
        height,
        width,
    )


def ellipse(image: Image, top: int, left: int, height: int, width: int) -> Pixels:
    """The pixels of the box whose middles lie in its ellipse; the part outside the image is cut off."""
    return frozenset(
        row * image.width + column
        for row in range(max(top, 0), min(top + height, image.height))
        for column in range(max(left, 0), min(left + width, image.width))
        if ((2 * (row - top) + 1 - height) / height) ** 2 + ((2 * (column - left) + 1 - width) / width) ** 2
        <= 1
    )


def disturbed(rng: np.random.Generator, pixels: Pixels, image: Image) -> Pixels:
    """The mask moved by up to one pixel (mostly not at all), without some of its pixels."""
    down, right = (int(step) for step in rng.choice([-1, 0, 0, 0, 0, 1], size=2))
    lost = float(rng.choice([0, 0.05, 0.2, 0.5]))
    moved = [(pixel // image.width + down, pixel % image.width + right) for pixel in sorted(pixels)]
    return frozenset(
        row * image.width + column
        for row, column in moved
        if 0 <= row < image.height and 0 <= column < image.width and rng.random() >= lost
    )


def random_scene(
    rng: np.random.Generator,
    *,
    n_images: int = 12,
    heights: tuple[int, int] = (8, 48),
    widths: tuple[int, int] = (8, 64),
    classes: Sequence[int] = WAD_CLASSES,
    ignored: Sequence[int] = (),
    disjoint_truths: Disjoint = True,
    disjoint_predictions: Disjoint = False,
    max_instances: int = 10,
    clips: Sequence[str] = ("",),
    decimals: int = 2,
    distinct_confidences: bool = False,
) -> Scene:
    """A scene of ellipses; predictions are truths disturbed, some of them twice, and strays.

    Sizes are drawn from the closed ranges. Confidences have `decimals` decimals, so few make ties; as in
    `scenes`, `ignored` lists class ids and `distinct_confidences` rules ties out.
    """
    drawn = tuple(
        Image(
            f"image_{number:04d}",
            int(rng.integers(heights[0], heights[1] + 1)),
            int(rng.integers(widths[0], widths[1] + 1)),
            clips[int(rng.integers(len(clips)))],
        )
        for number in range(n_images)
    )
    truths: list[Thing] = []
    predictions: list[Thing] = []
    for image in drawn:
        mine: list[Thing] = []
        for _ in range(int(rng.integers(0, max_instances + 1))):
            is_ignored = bool(ignored) and rng.random() < 0.25
            among = ignored if is_ignored else classes
            class_id = int(among[int(rng.integers(len(among)))])
            box = rectangle(rng, image)
            free = frozenset(free_pixels(image, mine, class_id, disjoint_truths))
            if pixels := ellipse(image, *box) & free:
                mine.append(Thing(image.id, class_id, pixels, ignored=is_ignored))
        truths += mine
        models, mine = mine, []
        for _ in range(int(rng.integers(0, max_instances + 1))):
            class_id = int(classes[int(rng.integers(len(classes)))])
            pixels = ellipse(image, *rectangle(rng, image))
            if models and rng.random() < 0.85:
                model = models[int(rng.integers(len(models)))]
                pixels = disturbed(rng, model.pixels, image)
                class_id = model.class_id if model.class_id in classes and rng.random() < 0.9 else class_id
            pixels &= frozenset(free_pixels(image, mine, class_id, disjoint_predictions))
            if pixels:
                confidence = f"{rng.integers(0, 10**decimals + 1) / 10**decimals:.{decimals}f}"
                mine.append(Thing(image.id, class_id, pixels, confidence))
        predictions += mine
    ranks = rng.permutation(len(predictions)).tolist()
    if distinct_confidences:
        predictions = [
            Thing(thing.image, thing.class_id, thing.pixels, f"0.{rank + 1:06d}")
            for rank, thing in zip(ranks, predictions, strict=True)
        ]
    order = rng.permutation(len(predictions)).tolist()
    return Scene(drawn, tuple(truths), tuple(predictions[place] for place in order))
