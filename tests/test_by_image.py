"""Things found by image: all of them, each once, and those of one image in the order in which they stand."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from segjudge.formats.source import ByImage


@given(st.data(), st.integers(1, 5))
def test_the_things_of_some_images_come_in_order(data, images):
    image = data.draw(st.lists(st.integers(-1, images - 1), max_size=60))
    places = data.draw(st.lists(st.integers(0, images - 1), max_size=6, unique=True))
    rows, slots = ByImage.of(np.array(image, np.int64), images).of_images(np.array(places, np.int64))
    wanted = [(row, slot) for slot, place in enumerate(places) for row, of in enumerate(image) if of == place]
    assert list(zip(rows.tolist(), slots.tolist(), strict=True)) == wanted
