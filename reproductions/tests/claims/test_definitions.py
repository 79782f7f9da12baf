"""Definitions of the papers that no other test has by itself."""

from collections import Counter
from pathlib import Path

import numpy as np

from theodolite.dissection.atoms import pack
from theodolite.explainers.concepts.methods import TECHNIQUES as HEADS
from theodolite.explainers.saliency.methods import TECHNIQUES as MAPS
from theodolite_reproductions.claims.answers.printed_tables import CONCEPTS
from theodolite_reproductions.claims.ledger import ledger
from theodolite_reproductions.datasets.votes.pasta_images import pasta_images


def test_concepts_of_fewer_images_are_left_out() -> None:
    """Four, five and six images: those with at least five stay, and keep their masks."""
    shows = {0: 4, 1: 5, 2: 6}
    images = []
    for number in range(6):
        labels = np.zeros((3, 4), int)
        for concept, times in shows.items():
            if number < times:
                labels[concept, : concept + 1] = concept + 1
        images.append(labels[None])
    atoms = pack(images, [()] * 6, ["rare", "just", "often"], grid=(3, 4))
    assert atoms.images_with.tolist() == [4, 5, 6]
    frequent = atoms.without_rare(5)
    assert frequent.concepts == ("just", "often")
    assert frequent.images_with.tolist() == [5, 6]
    assert np.diagonal(frequent.pairs).tolist() == [5 * 2, 6 * 3], "pixels of each"


def test_four_data_sets_of_25_images(shared_data: Path) -> None:
    """The images of PASTA that are at hand: 25 a data set, of no more classes than printed."""
    images = pasta_images(shared_data / "pasta_images")
    printed = ledger().entry("P004-D-01").printed
    assert printed is not None and len(images) == printed["images"]
    assert Counter(images.data_sets) == dict.fromkeys(printed["classes"], 25)
    for name, classes in printed["classes"].items():
        labels = {label for label, own in zip(images.labels, images.data_sets, strict=True)
                  if own == name}  # fmt: skip
        assert 2 <= len(labels) <= classes
    assert sum(printed["classes"].values()) == 29, "the text says 26"
    assert images.image(0).size == (224, 224)


def test_techniques_are_methods_on_networks() -> None:
    """Each of the 21 methods is here; Table 7 makes 49 techniques of them, without LayerCAM 46."""
    printed = ledger().entry("P004-D-02").printed
    assert printed is not None
    networks = printed["networks of each"]
    assert len(networks) == printed["methods"] == 21
    assert sum(networks.values()) == 49
    assert sum(n for name, n in networks.items() if name != "LayerCAM") == printed["techniques"]
    maps, rows = (ledger().entry(f"P004-T1{n}-01").printed for n in (1, 2))
    assert maps is not None and rows is not None
    concepts = [name for name in rows["rows"] if name.startswith(CONCEPTS)]
    assert len(maps) == 38 and len(maps) + len(concepts) == printed["techniques"]
    for method, own in Counter(name.partition(" / ")[0] for name in maps).items():
        assert own == networks[method.replace("PlusPlus", "++")], method
    ours = [t for table in (MAPS, HEADS) for t in table.values() if t.paper]
    assert len(ours) == len(networks)
