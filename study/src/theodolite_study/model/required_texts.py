"""List the texts that an instrument needs, and those missing in a language."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from theodolite_study.model.blocks import (
    BLANKS,
    TIE,
    BaseBlock,
    ChoiceBlock,
    ComparisonBlock,
    LikertBlock,
    NumberBlock,
    RankingBlock,
)
from theodolite_study.model.instrument import STAGES, Instrument

GENERAL = ("title", "welcome", "consent", "instructions", "thanks", "contact")
"""Keys of texts that every study has. The consent is stored as bytes, the others as Markdown."""
OUTCOME = "outcome"


def iterate_text_keys(instrument: Instrument, outcomes: Iterable[str] = ()) -> Iterator[str]:
    """Yield the keys of all texts of a version.

    Args:
        instrument: What is asked.
        outcomes: The ways out that the version has: each says in words what is kept and paid.
    """
    yield from GENERAL
    for outcome in outcomes:
        yield f"{OUTCOME}.{outcome}"
    for stage in STAGES:
        for block in instrument.blocks(stage):
            for part in iterate_text_parts(block):
                yield f"{block.name}.{part}"


def iterate_text_parts(block: BaseBlock) -> Iterator[str]:
    """Yield the parts of a block that have texts: `text`, and each option or item."""
    yield "text"
    if isinstance(block, LikertBlock) and block.labels == "all":
        yield from (f"point.{point}" for point in range(1, block.points + 1))
    elif isinstance(block, LikertBlock) or (
        isinstance(block, NumberBlock) and block.kind == "slider"
    ):
        yield from ("low", "high")
    elif isinstance(block, ChoiceBlock):
        yield from map("option.{}".format, block.keys())
    elif isinstance(block, RankingBlock):
        yield from (f"item.{key}" for key in block.items)
    elif isinstance(block, ComparisonBlock):
        yield from (f"option.{key}" for key in (*block.of, *((TIE,) if block.tie else ())))


def find_missing_texts(
    instrument: Instrument,
    languages: Sequence[str],
    wording: Mapping[str, Mapping[str, str]],
    outcomes: Iterable[str] = (),
) -> list[tuple[str, str]]:
    """List pairs of language and key without a text, in the order of the languages.

    Args:
        instrument: What is asked.
        languages: Those that are offered.
        wording: By language, then by key. Blank words are none.
        outcomes: The ways out that the version has.
    """
    keys = list(iterate_text_keys(instrument, outcomes))
    return [
        (language, key)
        for language in languages
        for key in keys
        if not wording.get(language, {}).get(key, "").strip(BLANKS)
    ]
