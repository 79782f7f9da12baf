"""Word the requirements of a block for a participant whose answer does not fit."""

from gettext import NullTranslations

from theodolite_study.locale.messages import N_, translate_message
from theodolite_study.model.blocks import BaseBlock, ChoiceBlock, ComparisonBlock, RegionsBlock

UNFIT: dict[str, str] = {
    "likert": N_("Please choose a number from 1 to {points}."),
    "choice": N_("Please choose one of the options."),
    "several": N_("Please choose {least} to {most} options."),
    "choice_other": N_(
        "Please choose one of the options, and write your own words where the last one is yours."
    ),
    "text": N_("Please write {least} to {most} characters."),
    "comment": N_("Please write at most {most} characters."),
    "number": N_("Please give a number from {least} to {most}, in steps of {step}."),
    "comparison": N_("Please choose one of both explanations."),
    "comparison_tie": N_("Please choose one of both explanations, or say that they are equal."),
    "ranking": N_("Please give every line its place."),
    "regions": N_("Please mark {least} to {most} places inside of the image."),
    "regions_nothing": N_(
        "Please mark {least} to {most} places inside of the image, or say that there is "
        "nothing to mark."
    ),
}


def describe_requirement(words: NullTranslations, block: BaseBlock) -> str:
    """Return the requirement of a block in a language."""
    gaps = {name: _format(value) for name, value in block.model_dump().items()}
    if isinstance(block, ChoiceBlock):
        gaps["most"] = block.most or len(block.keys())
    if isinstance(block, RegionsBlock):
        gaps["least"] = max(block.least, 1)
    return translate_message(words, UNFIT[_get_name(block)], gaps)


def _get_name(block: BaseBlock) -> str:
    kind: str = block.model_dump()["kind"]
    if isinstance(block, ChoiceBlock):
        choice = "choice_other" if block.other else "choice"
        return "several" if block.several else choice
    if isinstance(block, ComparisonBlock) and block.tie:
        return "comparison_tie"
    if isinstance(block, RegionsBlock) and block.nothing:
        return "regions_nothing"
    return "number" if kind == "slider" else kind


def _format(value: object) -> object:
    return f"{value:g}" if isinstance(value, float) else value
