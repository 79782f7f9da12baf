"""Write the study.yaml and keys of a new study. Used by `study init` and `study demo`."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from theodolite.errors import EvidenceError
from theodolite.ext.studies import Material, all_or_nothing
from theodolite_study.keys import KEYS_FILE, Keys
from theodolite_study.protocol import STUDY_FILE, Protocol, read_protocol
from theodolite_study.readable_codes import make_code

TEMPLATE = """\
# A study of theodolite. It can be changed until it opens; then it stays as it is.
slug: {slug}            # its part of the address, after /s/
title: {title}
contact: {contact}      # shown on each page
languages: {languages}  # besides English: in texts of ours (de, fr), or of `texts`

# The study opens when all of these are filled in. The consent form is made of them: have it
# approved.
pay: {pay}              # none, or {{reward: 450, currency: GBP}} in the smallest unit
minutes: {minutes}      # how long it takes
ethics:
{ethics}

votes: {votes}          # for each explanation, of different people
quota: {quota}          # explanations for each person
seed: {seed}

plan:                   # what is compared, fixed before the study opens
  smallest: 0.3         # smallest relevant difference, in points of the scale
  compare: all          # pairs of methods, or all
  # primary: [q1]       # the first question by default; differences on others are exploratory

design: dynamic         # or planned, for a panel whose size is known; then also:
# panel: 15
same_image_gap: {gap}     # other items between two explanations of one image
# same_image_most: 3  # how often one person may meet one image
baseline: per_instance  # or once_per_image: what is seen is asked once for each image

training: {{pass_mark: 0.5, attempts: 3}}
checks: {{every: {every}, allowed: 1, then: flag}}   # a hidden check after so many; or screen_out

access:
  kind: link            # link, invite, prolific, mturk
  # signed: true        # prolific: only with its signed token …
  # audience: …         # … which names this address or study
  # Codes are for prolific only, which has to know them. Elsewhere each person gets a code of
  # their own at the end.
  codes: {{finished: "{finished}", no_consent: "{declined}", screened_out: "{screened}"}}

# Texts have defaults: welcome, consent, instructions, thanks, questions, rankings,
# debriefing, before_text, before_boxes. docs/study.md lists them.
"""


@dataclass(frozen=True, kw_only=True)
class NewStudy:
    """Settings of a study that is to be created."""

    title: str
    contact: str
    slug: str | None = None
    """Name of the study in addresses; derived from the title by default."""
    votes: int = 5
    quota: int = 20
    seed: int = 0
    languages: Sequence[str] = ()
    ethics: Mapping[str, object] = field(default_factory=dict)
    """Facts of the consent form that are known."""
    pay: str = ""
    texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Texts by language, where the consent form needs them."""


def write_new_study(folder: Path, material: Material, beginning: NewStudy) -> Protocol:
    """Write study.yaml and the keys into a folder that already has its material."""
    if (folder / STUDY_FILE).exists():
        raise EvidenceError("study folder", f"one with a {STUDY_FILE}", "a new folder")
    real = material.of("real")
    images = {instance.image_key for instance in real}
    quota = min(beginning.quota, len(real))
    content = TEMPLATE.format(
        slug=json.dumps(beginning.slug or make_slug(beginning.title)),
        title=_quote(beginning.title), contact=_quote(beginning.contact),
        votes=beginning.votes, quota=quota, every=max(2, quota // 3),
        minutes=max(5, 2 * quota), seed=beginning.seed,
        gap=min(5, len(images) // 2) if len(images) < len(real) else 0,
        languages=json.dumps(list(beginning.languages)),
        pay=beginning.pay, ethics=_describe_ethics(beginning.ethics),
        finished=_make_code(), declined=_make_code(), screened=_make_code(),
    )  # fmt: skip
    with all_or_nothing(folder / STUDY_FILE) as stream:
        stream.write(content.encode())
        if beginning.texts:
            stream.write(f"texts: {json.dumps(beginning.texts, ensure_ascii=False)}\n".encode())
    Keys.create(folder / KEYS_FILE)
    return read_protocol(folder)


ETHICS_NOTES = {
    "institution": "who is responsible for the data",
    "responsible": "name, role and e-mail",
    "data_protection": "e-mail of the data protection officer",
    "purpose": "a sentence of 40 characters or more",
    "approval": "ethics board and number; or none, with the reason",
    "legal_basis": "consent or public_interest",
    "risks": "a sentence",
    "age_min": "youngest age",
    "recipients": "who receives the data: hosting, platform",
    "transfer": "none; or the country outside the EU, with the safeguard",
    "until": "it closes by then",
    "publish": "where answers are published, with the license; or no",
    "authority": "who takes complaints about data protection",
}
USUAL = {"age_min": 18}
DEMO_ETHICS = {
    "institution": "Demo", "responsible": "Demo, demo@example.org",
    "data_protection": "demo@example.org",
    "purpose": "This demonstration shows how people rate explanations of images.",
    "approval": "none, because this is a demonstration", "legal_basis": "consent",
    "risks": "There are no known risks.", "age_min": 18,
    "recipients": "The computer that runs the demonstration", "transfer": "none",
    "until": "2099-12-31", "publish": "no", "authority": "the demonstration's authority",
}  # fmt: skip
DEMO_TEXTS = {
    "de": {
        "ethics.purpose": "Diese Demonstration zeigt, wie Menschen Bilderklärungen bewerten.",
        "ethics.risks": "Es sind keine Risiken bekannt.",
        "ethics.approval": "keines, da dies eine Demonstration ist",
        "ethics.recipients": "Der Computer, auf dem die Demonstration läuft",
        "ethics.authority": "der Aufsichtsbehörde der Demonstration",
    },
    "fr": {
        "ethics.purpose": "Cette démonstration montre comment on évalue des explications.",
        "ethics.risks": "Aucun risque n’est connu.",
        "ethics.approval": "aucun, car il s’agit d’une démonstration",
        "ethics.recipients": "L’ordinateur sur lequel tourne la démonstration",
        "ethics.authority": "l’autorité de la démonstration",
    },
}


def _describe_ethics(known: Mapping[str, object]) -> str:
    values = USUAL | dict(known)
    lines = []
    for name, note in ETHICS_NOTES.items():
        value = json.dumps(values[name], ensure_ascii=False) if name in values else ""
        lines.append(f"  {name}: {value}".ljust(24) + f"# {note}")
    return "\n".join(lines)


def make_slug(title: str) -> str:
    """Turn a title into a part of an address.

    >>> make_slug("Cats & dogs: what do you see?")
    'cats-dogs-what-do-you-see'
    """
    plain = re.sub(r"[^a-z0-9]+", "-", title.casefold()).strip("-")[:40].strip("-")
    return plain if len(plain) > 1 else "study"


def _quote(words: str) -> str:
    return json.dumps(words, ensure_ascii=False)


def _make_code() -> str:
    return "".join(make_code().split("-")[:2])
