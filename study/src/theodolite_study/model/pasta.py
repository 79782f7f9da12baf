"""Define the PASTA instrument (Kazmierczak et al., 2024): own view first, then six ratings."""

from theodolite_study.model.blocks import (
    Block,
    ChoiceBlock,
    LikertBlock,
    RankingBlock,
    RegionsBlock,
    TextBlock,
)
from theodolite_study.model.instrument import Instrument, InstrumentPage

AGES = ("18-24", "25-34", "35-44", "45-54", "55-64", "65")
GENDERS = ("woman", "man", "another")
RATINGS = ("q1", "q2", "q3", "q4", "q5", "q6")
NEEDS = {"q5": "same", "q6": "different"}
"""Questions about a changed image, which are skipped if an explanation has none."""
RANKED = {"q7": 5, "q8": 6, "q9": 6}
"""Number of items that each ranking puts in order."""
OUTCOMES = (
    "finished", "ran_out", "stopped", "declined", "screened_out", "failed_practice",
    "failed_checks", "full", "wrong_device", "timed_out", "returned", "withdrawn",
)  # fmt: skip
"""Every outcome that a version may have."""


def build_pasta() -> Instrument:
    """Build the instrument. Its texts are in `locale/pasta`, one file per language."""
    background: list[Block] = [
        ChoiceBlock(name="age_band", options=list(AGES), required=False),
        ChoiceBlock(name="gender", options=list(GENDERS), required=False),
        TextBlock(name="country", least=2, most=2, lines=1, required=False),
    ]
    before: list[Block] = [
        TextBlock(name="words", most=4000),
        RegionsBlock(name="regions", least=0, most=50),
    ]
    after: list[Block] = [LikertBlock(name=name) for name in RATINGS]
    end: list[Block] = [
        RankingBlock(name=name, items=[f"i{item}" for item in range(items)])
        for name, items in RANKED.items()
    ]
    return Instrument(
        about=[InstrumentPage(blocks=background)], before=[InstrumentPage(blocks=before)],
        after=[InstrumentPage(blocks=after)], end=[InstrumentPage(blocks=end)],
    )  # fmt: skip
