"""Map requirements of laws, frameworks and standards to the content of a dossier."""

from typing import Literal

from theodolite._storage.records import Record

Coverage = Literal["covered", "partly", "not covered"]
DISCLAIMER = (
    "This table is not legal advice, and a dossier is not a conformity assessment. It describes "
    "this folder in our words; only the texts themselves are authoritative."
)
COMPARED = (
    "We compared the rows on the EU AI Act with public copies of the regulation as published on "
    "12 July 2024, and the row on MEASURE 2.9 with copies of NIST AI 100-1. We did not use the "
    "official files. Of ISO/IEC TS 6254 we read only the published scope, so no clause is cited. "
    "Later amendments are not included."
)
AI_ACT = "EU AI Act, Regulation (EU) 2024/1689"
OF_2024 = "12 July 2024"


class CrosswalkRow(Record):
    """One requirement, and what is here of it."""

    source: str
    place: str
    text_of: str
    """The date of the text that the row was compared with."""
    requirement: str
    coverage: Coverage
    here: str
    missing: str


CROSSWALK = (
    CrosswalkRow(
        source=AI_ACT, place="Annex IV 1(a)", text_of=OF_2024,
        requirement="intended purpose, provider, version of the system",
        coverage="covered",
        here="part 1, as the provider states it",
        missing="how the version relates to earlier ones",
    ),
    CrosswalkRow(
        source=AI_ACT, place="Annex IV 2(e)", text_of=OF_2024,
        requirement="human oversight measures, among them technical ones that help deployers "
        "interpret outputs",
        coverage="partly",
        here="which explanations are reliable, and which are not (part 2)",
        missing="all other measures of oversight",
    ),
    CrosswalkRow(
        source=AI_ACT, place="Annex IV 2(g)", text_of=OF_2024,
        requirement="procedures and data of validation and testing, metrics; test logs and reports "
        "dated and signed by the responsible persons",
        coverage="partly",
        here="covered for explanations: parts 2 to 4, dated; signed where a signature lies beside "
        "the statement",
        missing="accuracy, robustness, cybersecurity and discriminatory effects of the system",
    ),
    CrosswalkRow(
        source=AI_ACT, place="Annex IV 3", text_of=OF_2024,
        requirement="capabilities and limits, accuracy also for groups of people, foreseeable "
        "unintended outcomes, measures that help deployers interpret outputs, input data",
        coverage="partly",
        here="which explanations may be relied upon, and for what (parts 2 and 5)",
        missing="capabilities, accuracy and risks of the system itself, groups of people",
    ),
    CrosswalkRow(
        source=AI_ACT, place="Annex IV 4", text_of=OF_2024,
        requirement="why the performance metrics are appropriate for this system",
        coverage="partly",
        here="the question, limitations and baselines of each score (part 3)",
        missing="the link to the intended purpose, unless the provider states it in part 3; "
        "metrics of performance",
    ),
    CrosswalkRow(
        source=AI_ACT, place="Art. 13(3)", text_of=OF_2024,
        requirement="instructions for use, with what helps to explain and to interpret outputs",
        coverage="not covered",
        here="evidence about explanations, which instructions may cite",
        missing="the instructions for use",
    ),
    CrosswalkRow(
        source=AI_ACT, place="Art. 86", text_of=OF_2024,
        requirement="clear and meaningful explanations by the deployer to people whom a decision "
        "affects",
        coverage="not covered",
        here="evidence whether such explanations can be relied upon",
        missing="the explanation that is owed",
    ),
    CrosswalkRow(
        source="NIST AI RMF 1.0 (NIST AI 100-1)", place="MEASURE 2.9", text_of="January 2023",
        requirement="the model is explained, validated and documented; its output is interpreted "
        "within its context",
        coverage="partly",
        here="validation of the explanation, documented (parts 2 to 5)",
        missing="the context of use, which is the provider's and the deployer's",
    ),
    CrosswalkRow(
        source="ISO/IEC TS 6254:2025", place="as a whole", text_of="September 2025, scope only",
        requirement="approaches and methods for objectives of explainability over the life cycle",
        coverage="partly",
        here="whether the chosen explanation does what it claims",
        missing="objectives of stakeholders, choice of methods, other stages of the life cycle",
    ),
)  # fmt: skip
