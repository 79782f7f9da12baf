"""Try to obtain "yes" for a bad explanation: does a unit detect the concept?

Each function is a row of ``docs/adversary.md``: a bad explanation, and what the audit says of it.
"""

import numpy as np

import theodolite


def check(result, answer, disclosed=""):
    """Assert the answer, and that the card of the score that decides names the limitation."""
    verdict = result.verdicts["detects"]
    assert verdict.answer == answer, f"{verdict.answer}: {verdict.summary}"
    assert disclosed in verdict.score.describe(), verdict.score.describe()


def audit_units(units, concepts):
    """Audit masks (images x units x pixels), each unit named after the concept of its column."""
    chance = np.random.default_rng(1).permutation(units)  # the masks of other images
    return theodolite.audit(
        unit_pixels=units.sum(-1), formula_pixels=concepts.sum(-1),
        shared_pixels=(units & concepts).sum(-1), chance_unit_pixels=chance.sum(-1),
        chance_formula_pixels=concepts.sum(-1), chance_shared_pixels=(chance & concepts).sum(-1),
    )  # fmt: skip


def places(present, random):
    """Return masks of 64 pixels: one of four places where something is present."""
    place = random.integers(0, 4, present.shape)[..., None] == np.arange(64) // 16
    return place & present[..., None]


def fires_everywhere():
    """Name a unit that marks every pixel of every image."""
    random = np.random.default_rng(0)
    horns = places(random.random((200, 5)) < 0.3, random)
    check(audit_units(np.ones_like(horns), horns), "inconclusive")


def animal_called_horn():
    """Name units that mark any animal after the horn that some of them have."""
    random = np.random.default_rng(0)
    animals = places(random.random((200, 5)) < 0.5, random)
    horns = animals & (random.random((200, 5, 1)) < 0.3)
    result = audit_units(animals, horns)
    check(result, "yes", "False alarms do not count")
    assert result["unit_iou"].value < 0.4  # shown beside it, does not decide


def one_pixel_of_it():
    """Name units that mark one pixel of the concept."""
    random = np.random.default_rng(0)
    horns = places(random.random((200, 5)) < 0.3, random)
    units = horns & (np.arange(64) % 16 == 0)
    result = audit_units(units, horns)
    check(result, "yes", "One shared place")
    assert result["pixel_recall"].value < 0.1


def best_of_thousands():
    """Draw 4,000 random units, and show the five that fit the audited images best."""
    random = np.random.default_rng(0)
    units = random.random((200, 4000, 64), dtype=np.float32) < 0.02

    def audit_best(shown):
        horns = places(np.arange(200)[:, None] < shown, random)  # images that show the concept
        hits = (units & horns).any(axis=2).sum(axis=0)
        return audit_units(units[:, hits.argsort()[-5:]], np.repeat(horns, 5, axis=1))

    check(audit_best(shown=12), "partly", "units that were chosen on the same images")
    check(audit_best(shown=3), "yes", "units that were chosen on the same images")


def rare_concept():
    """Name units after something that two of 200 images show."""
    random = np.random.default_rng(0)
    horns = places(np.arange(200)[:, None] < np.full(5, 2), random)
    check(audit_units(horns, horns), "yes", "two can be enough for a yes")


def judge_of_length():
    """Ask a judge who goes by the length of a text, which is longer where the latent is active."""
    random = np.random.default_rng(0)
    latent, active = np.repeat(np.arange(10), 40), np.arange(400) % 2 == 0
    answer = (np.where(active, 60, 40) + 5 * random.normal(size=400) > 50) + 0.0
    result = theodolite.audit(
        latent=latent, sequence=np.arange(400), active=active, answer=answer,
        judge=np.zeros(400, int),
    )  # fmt: skip
    check(result, "yes", "where they are longer")
    twice = theodolite.audit(  # and with the explanation of another latent, as the card asks
        latent=np.tile(latent, 2), sequence=np.tile(np.arange(400), 2), active=np.tile(active, 2),
        answer=np.tile(answer, 2), explanation=np.append(latent, (latent + 1) % 10),
        judge=np.zeros(800, int),
    )  # fmt: skip
    check(twice, "inconclusive")


for row in (
    fires_everywhere, animal_called_horn, one_pixel_of_it, best_of_thousands, rare_concept,
    judge_of_length,
):  # fmt: skip
    row()
