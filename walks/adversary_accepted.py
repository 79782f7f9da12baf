"""Try to obtain "yes" for a bad explanation: would people agree?

Each function is a row of ``docs/adversary.md``: a bad explanation, and what the audit says of it.
"""

import numpy as np

import theodolite

STARS = [1, 2, 3, 4, 5]


def check(result, answer, disclosed=""):
    """Assert the answer, and that the card of the score that decides names the limitation."""
    verdict = result.verdicts["accepted"]
    assert verdict.answer == answer, f"{verdict.answer}: {verdict.summary}"
    assert disclosed in verdict.score.describe(), verdict.score.describe()


def random_raters():
    """Let raters answer without looking."""
    ratings = np.random.default_rng(0).choice(STARS, (100, 5))
    check(theodolite.audit(ratings=ratings, scale=STARS), "no")


def raters_who_like_everything():
    """Ask people who give four or five stars to anything."""
    ratings = np.random.default_rng(0).choice([4, 5], (100, 5))
    check(theodolite.audit(ratings=ratings, scale=STARS), "yes", "Raters who like everything")


def one_rater_copied():
    """Ask one person, and copy the column nine times."""
    one = np.random.default_rng(0).choice(STARS[2:], (100, 1), p=[0.1, 0.5, 0.4])
    result = theodolite.audit(ratings=np.repeat(one, 10, axis=1), scale=STARS)
    check(result, "yes", "columns copied from one rater")
    assert result["krippendorff_alpha"].value > 0.999  # people never agree like that


def only_fans_answer():
    """Leave out every rating below four stars."""
    ratings = np.random.default_rng(0).choice(STARS, (100, 5)) + 0.0
    ratings[ratings < 4] = np.nan
    result = theodolite.audit(ratings=ratings, scale=STARS)
    check(result, "yes", "ratings that were not given")


def longer_scale():
    """Declare a lowest answer that nobody was offered."""
    ratings = np.random.default_rng(0).choice(STARS, (100, 5), p=[0.03, 0.07, 0.15, 0.45, 0.3])
    check(theodolite.audit(ratings=ratings, scale=STARS), "partly")
    check(theodolite.audit(ratings=ratings, scale=[0, *STARS]), "yes", "scale that starts below")


def same_explanations_again():
    """Count five explanations, each rated 40 times, as 200."""
    five = np.array([[5, 5, 4, 5, 4], [5, 4, 5, 5, 5], [4, 3, 4, 3, 4], [4, 4, 3, 5, 5], [5] * 5])
    ratings = np.repeat(five, 40, axis=0)
    check(theodolite.audit(ratings=ratings, scale=STARS), "yes", "declare clusters")
    declared = theodolite.audit(ratings=ratings, scale=STARS, clusters=np.repeat(np.arange(5), 40))
    check(declared, "partly")


for row in (
    random_raters, raters_who_like_everything, one_rater_copied, only_fans_answer, longer_scale,
    same_explanations_again,
):  # fmt: skip
    row()
