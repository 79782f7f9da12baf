"""Try to obtain "yes" for a bad explanation: does it look where the concept is?

Each function is a row of ``docs/adversary.md``: a bad explanation, and what the audit says of it.
"""

import numpy as np

import theodolite


def check(result, answer, disclosed=""):
    """Assert the answer, and that the card of the score that decides names the limitation."""
    verdict = result.verdicts["located"]
    assert verdict.answer == answer, f"{verdict.answer}: {verdict.summary}"
    assert disclosed in verdict.score.describe(), verdict.score.describe()


def squares(corners, side):
    """Return masks of 16 x 16 pixels with a square at each corner."""
    rows, columns = np.mgrid[:16, :16]
    down = rows - corners[:, 0, None, None]
    right = columns - corners[:, 1, None, None]
    return (down >= 0) & (down < side) & (right >= 0) & (right < side)


def hills(centers):
    """Return maps of 16 x 16 pixels with a hill at each center."""
    rows, columns = np.mgrid[:16, :16]
    down = rows - centers[:, 0, None, None]
    right = columns - centers[:, 1, None, None]
    return np.exp(-(down**2 + right**2) / 6)


def noise_on_large_objects():
    """Mark anything, where objects fill most of the image."""
    random = np.random.default_rng(0)
    objects = squares(random.integers(0, 2, (100, 2)), side=15)
    check(theodolite.audit(maps=random.random(objects.shape), objects=objects), "inconclusive")


def always_the_center():
    """Mark the center, where photographers put the object."""
    random = np.random.default_rng(0)
    centers = 7.5 + random.integers(-1, 2, (100, 2))
    objects = squares(np.full((100, 2), 4), side=8)
    check(theodolite.audit(maps=hills(centers), objects=objects), "inconclusive")
    spots = squares(np.full((100, 2), 7), side=2) + 0.0  # wholly on the object
    check(theodolite.audit(maps=spots, objects=objects), "inconclusive")


def copy_of_the_mask():
    """Show the object's mask as the map, without asking any network."""
    random = np.random.default_rng(0)
    objects = squares(random.integers(0, 11, (100, 2)), side=6)
    result = theodolite.audit(maps=objects + 0.0, objects=objects)
    check(result, "yes", "a copy of the mask")


def maps_for_easy_images_only():
    """Give an empty map wherever the object is hard to find."""
    random = np.random.default_rng(0)
    objects = squares(random.integers(0, 11, (100, 2)), side=6)
    maps = objects + 0.0
    maps[30:] = 0.0
    check(theodolite.audit(maps=maps, objects=objects), "no")


def negative_relevance():
    """Say that the background speaks strongly against the answer, and the object a little for."""
    random = np.random.default_rng(0)
    objects = squares(random.integers(0, 11, (100, 2)), side=6)
    maps = np.where(objects, 0.01, -10 * random.random(objects.shape))
    check(theodolite.audit(maps=maps, objects=objects), "yes", "relevance below 0")


def chosen_after_looking():
    """Make 400 random maps of every image, and show the one that lies on the object."""
    random = np.random.default_rng(0)
    objects = squares(random.integers(0, 11, (100, 2)), side=6)
    tries = np.stack([hills(16 * random.random((100, 2))) for _ in range(400)])
    on_object = (tries * objects).sum(axis=(2, 3)) / tries.sum(axis=(2, 3))
    maps = tries[on_object.argmax(axis=0), np.arange(100)]
    check(theodolite.audit(maps=maps, objects=objects), "yes", "chosen because they lie on")


def one_map_for_all_parts():
    """Show the whole animal, whichever of its parts is named."""
    random = np.random.default_rng(0)
    animals = random.uniform(3, 13, (100, 2))
    parts = np.clip(animals[:, None] + random.normal(size=(100, 3, 2)), 0, 15.9)
    said = theodolite.ConceptEvidence(values=random.random((100, 3)), truth=np.ones((100, 3), bool))
    where = theodolite.LocationEvidence(
        explained=said, maps=np.stack([hills(animals)] * 3, axis=1), part_of=[0, 1, 2],
        sizes=np.full((100, 2), 16), points=parts[:, :, None],
    )  # fmt: skip
    check(theodolite.audit(where, questions=["located"]), "inconclusive")


def generous_tolerance():
    """Peak anywhere, and allow the peak to be far off."""
    random = np.random.default_rng(0)
    said = theodolite.ConceptEvidence(values=random.random((100, 1)), truth=np.ones((100, 1), bool))
    where = theodolite.LocationEvidence(
        explained=said, maps=random.random((100, 1, 16, 16)), part_of=[0],
        sizes=np.full((100, 2), 16), points=16 * random.random((100, 1, 1, 2)),
    )  # fmt: skip
    result = theodolite.audit(where, metrics=[("pointing_game", {"tolerance": 0.45})])
    check(result, "no")


def last_words_of_a_text():
    """Mark the end of every text, where the rationale always is."""
    random = np.random.default_rng(0)
    result = theodolite.audit(
        tokens=[random.integers(0, 500, 40).tolist() for _ in range(100)],
        rationale=[[False] * 34 + [True] * 6] * 100, relevance=[list(range(40))] * 100,
    )  # fmt: skip
    check(result, "yes", "the end of a text")


for row in (
    noise_on_large_objects, always_the_center, copy_of_the_mask, maps_for_easy_images_only,
    negative_relevance, chosen_after_looking, one_map_for_all_parts, generous_tolerance,
    last_words_of_a_text,
):  # fmt: skip
    row()
