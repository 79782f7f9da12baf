"""Definitions of the papers that no other test has by itself."""

import numpy as np

from theodolite.dissection.atoms import pack


def test_concepts_of_fewer_pictures_are_left_out() -> None:
    """Four, five and six pictures: those with at least five stay, and keep their masks."""
    shows = {0: 4, 1: 5, 2: 6}
    pictures = []
    for number in range(6):
        labels = np.zeros((3, 4), int)
        for concept, times in shows.items():
            if number < times:
                labels[concept, : concept + 1] = concept + 1
        pictures.append(labels[None])
    atoms = pack(pictures, [()] * 6, ["rare", "just", "often"], grid=(3, 4))
    assert atoms.pictures_with.tolist() == [4, 5, 6]
    frequent = atoms.without_rare(5)
    assert frequent.concepts == ("just", "often")
    assert frequent.pictures_with.tolist() == [5, 6]
    assert np.diagonal(frequent.pairs).tolist() == [5 * 2, 6 * 3], "pixels of each"
