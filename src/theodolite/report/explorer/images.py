"""Select the stored images that show an item, and their captions."""

import zlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from theodolite._runs.folder.run_records import ConceptCardRecord, UnitCardRecord
from theodolite._runs.report_material import RunMaterial
from theodolite.report.examples import Example, NamedConcept
from theodolite.report.overlays import data_address

MOST = 8
"""Images of one item."""


@dataclass
class ItemImages:
    """Sentences and images of one item, each image with the words under it."""

    says: list[str] = field(default_factory=list)
    images: list[tuple[str, str]] = field(default_factory=list)

    def add(self, address: str, words: str) -> None:
        """One more image, while there is room."""
        if len(self.images) < MOST and address not in dict(self.images):
            self.images.append((address, words))


Items = dict[tuple[str, str], ItemImages]
"""What is shown, by kind of item and name."""


def shown_items(material: RunMaterial, examples: Sequence[Example]) -> Items:
    """All that the run kept of single items."""
    items: Items = defaultdict(ItemImages)
    for example in examples:
        _from_example(items, example)
    for card in material.made_record.concept_cards:
        _from_concept_card(material, items, card)
    for unit in material.made_record.cards:
        _from_unit_card(material, items, unit)
    return dict(items)


def key(address: str) -> str:
    """Return the key of an image in the page: length and checksum of its address.

    A drawing of the page is found by its name.
    """
    if not address.startswith("data:"):
        return address
    return f"{len(address)}-{zlib.adler32(address.encode())}"


def _from_example(items: Items, example: Example) -> None:
    sample = items["samples", example.sample]
    if example.predicted:
        judged = "correctly" if example.right else f"incorrectly: it is {example.label}"
        sample.says.append(f"Classified as {example.predicted}, {judged}.")
    if example.tile is None:
        return
    whole = example.tile.name
    sample.add(whole, "the image")
    for concept in example.named:
        if concept.tile is not None:
            sample.add(concept.tile.name, f"{concept.name}: {_judgment_text(concept)}")
        words = f"in {example.sample}: {_judgment_text(concept)}"
        drawing = whole if concept.tile is None else concept.tile.name
        items["concepts", concept.name].add(drawing, words)
    for name in dict.fromkeys((example.label, example.predicted)):
        if name:
            taken = "predicted" if name == example.predicted else "not predicted"
            known = f"true class, {taken}" if name == example.label else taken
            items["classes", name].add(whole, f"{example.sample}: {known}")


def _judgment_text(concept: NamedConcept) -> str:
    there = {None: "presence unknown", True: "present", False: "not present"}[concept.there]
    looked = {None: "", True: ", highlighted", False: ", not highlighted"}[concept.inside]
    return there + looked


def _from_concept_card(material: RunMaterial, items: Items, card: ConceptCardRecord) -> None:
    for number, file in enumerate(card.files[:MOST]):
        address = data_address(material.image(file))
        items["concepts", card.concept].add(address, f"patch {number + 1}")
        if number == 0:
            items["classes", card.of].add(address, f"shows {card.concept}")


def _from_unit_card(material: RunMaterial, items: Items, card: UnitCardRecord) -> None:
    unit = items["units", card.unit]
    unit.says += [
        f"Formula: {card.formula}.",
        f"One concept: {card.alone}.",
        f"Stopped by detection: {card.stopped}.",
    ]
    for number, file in enumerate(card.files[:MOST]):
        address = data_address(material.image(file))
        unit.add(address, f"among the images on which it is most active, {number + 1}")
