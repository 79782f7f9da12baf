"""A unit's mask on an image: what is clear, what is veiled, and both outlines."""

import numpy as np
from PIL import Image

from theodolite.dissection.drawing import MARKED, TRUE, draw_mask


def test_marked_places_stay_clear_and_both_outlines_are_where_they_are() -> None:
    image = Image.new("RGB", (80, 80), (100, 100, 100))
    activation = np.zeros((80, 80))
    activation[:, :40] = 1.0
    truth = np.zeros((8, 8), bool)
    truth[:4] = True
    pixels = np.asarray(draw_mask(image, activation, 0.5, truth=truth))
    assert pixels[60, 10].tolist() == [100, 100, 100], "as it is"
    assert pixels[60, 70].tolist() == [181, 181, 181], "under a veil of 52 %"
    assert pixels[60, 40].tolist() == list(MARKED)
    assert pixels[40, 10].tolist() == pixels[40, 70].tolist() == list(TRUE)
    without = np.asarray(draw_mask(image, activation, 0.5))
    assert not (without == TRUE).all(axis=-1).any()
    assert np.asarray(image).max() == 100, "the image stays as it is"
