"""Write the study.yaml and keys of a new study. Used by `study init` and `study demo`."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from theodolite.errors import EvidenceError
from theodolite.ext.studies import Material, all_or_nothing
from theodolite_study.keys import KEYS_FILE, Keys
from theodolite_study.protocol import STUDY_FILE, Protocol, read_protocol
from theodolite_study.readable_codes import make_code

TEMPLATE = """\
# A study of theodolite. When it is first served, it is put into the database and stays as it is.
slug: {slug}            # its part of the address, after /s/
title: {title}
contact: {contact}      # shown on each page
languages: {languages}  # besides English: in texts of ours (de, fr), or of `texts`
pay: no money           # as the consent form says it
until: {until}          # it closes by then, as the consent form says

votes: {votes}          # for each explanation, of different people
quota: {quota}          # explanations for each person
minutes: {minutes}      # how long it takes, as told to people
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
# before_text, before_boxes. docs/study.md lists them; have the consent form approved.
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
        until=json.dumps(f"{datetime.now(timezone.utc).year + 1}-12-31"),
        finished=_make_code(), declined=_make_code(), screened=_make_code(),
    )  # fmt: skip
    with all_or_nothing(folder / STUDY_FILE) as stream:
        stream.write(content.encode())
    Keys.create(folder / KEYS_FILE)
    return read_protocol(folder)


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
