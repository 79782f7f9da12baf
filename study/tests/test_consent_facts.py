"""What a consent form has to say, and that no text contradicts what people are paid."""

import re
from pathlib import Path
from typing import Any

import pytest

from support.study.folder_study import study_folder
from theodolite.ext.studies import read_material
from theodolite_study.demo.material import write_demo_material
from theodolite_study.folder_import import get_settings, load_texts
from theodolite_study.model.consent_facts import FACTS, TOP_FACTS, find_missing_facts
from theodolite_study.model.markdown import GAP, find_ticks, render_consent
from theodolite_study.new_study import DEMO_ETHICS, DEMO_TEXTS, NewStudy, write_new_study
from theodolite_study.protocol import STUDY_FILE, Protocol, read_protocol

PAID = re.compile(r"\bpa(id|y)\b|£|bezahl|vergüt|Betrag|\bpay[eé]|somme|rémunér", re.IGNORECASE)
UNPAID = ("are not paid.", "wird nicht vergütet.", "n’est pas rémunérée.")
HEADS = ("**Pay.**", "**Vergütung.**", "**Rémunération.**")


def protocol(**changes: Any) -> Protocol:
    given = {"slug": "new", "title": "New", "contact": "ann@example.org", "languages": ["de", "fr"],
             "pay": "none", "minutes": 40, "ethics": DEMO_ETHICS, "texts": DEMO_TEXTS}  # fmt: skip
    return Protocol.model_validate(given | changes)


@pytest.mark.parametrize("name", [*FACTS, *TOP_FACTS])
def test_consent_without_a_fact_is_incomplete(name: str) -> None:
    if name in TOP_FACTS:
        lacking = protocol(**{name: None})
    else:
        lacking = protocol(ethics={k: v for k, v in DEMO_ETHICS.items() if k != name})
    place = name if name in TOP_FACTS else f"ethics.{name}"
    assert find_missing_facts(lacking) == [place]
    assert get_settings(lacking)["unfilled"] == [place]
    assert find_missing_facts(protocol()) == [] and len((*FACTS, *TOP_FACTS)) == 15


def test_facts_are_read_as_they_are_written(tmp_path: Path) -> None:
    """YAML takes `no` and dates for other things than words."""
    write_new_study(
        tmp_path, write_demo_material(tmp_path), NewStudy(title="New", contact="ann@example.org")
    )
    path = tmp_path / STUDY_FILE
    missing = find_missing_facts(read_protocol(tmp_path))
    assert set(missing) == {f"ethics.{name}" for name in FACTS if name != "age_min"} | {"pay"}
    text = path.read_text().replace("pay:  ", "pay: none  ").replace("publish:  ", "publish: no  ")
    path.write_text(text.replace("until:  ", "until: 2027-12-31  "))
    ethics = read_protocol(tmp_path).ethics
    assert (ethics.publish, ethics.until) == ("no", "2027-12-31")


def test_sentences_are_needed_in_each_language() -> None:
    german = {name: text for name, text in DEMO_TEXTS["de"].items() if name != "ethics.risks"}
    lacking = protocol(texts={"de": german, "fr": DEMO_TEXTS["fr"]})
    assert find_missing_facts(lacking) == ["texts.de: ethics.risks"]
    short = protocol(ethics=DEMO_ETHICS | {"purpose": "To see."})
    assert find_missing_facts(short) == ["ethics.purpose (40 characters or more)"]
    own = protocol(languages=[], ethics={}, consent="I agree.", texts={})
    assert find_missing_facts(own) == [], "the form is the researcher's"


@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_no_text_contradicts_the_pay(language: str, tmp_path: Path) -> None:
    material = read_material(study_folder(tmp_path / "s", gold=1))
    amount = {"reward": 450, "currency": "GBP"}
    for pay in ("none", amount):
        texts = load_texts(protocol(pay=pay), language, material)
        said = {key: text for key, text in texts.items() if not key.startswith("ethics.")}
        gaps = {key: GAP.findall(text) for key, text in said.items() if GAP.search(text)}
        assert gaps == {"words.text": ["{label}"]}
        assert len(find_ticks(render_consent(said["consent"]))) == 2
        (about,) = [line for line in said["consent"].splitlines() if line.startswith(HEADS)]
        if pay == "none":
            assert about.endswith(UNPAID)
            others = [text for text in said.values() if text != said["consent"]]
            assert not any(PAID.search(text) for text in others)
        else:
            assert "4.50" in about.replace(",", ".") and not about.endswith(UNPAID)
            assert PAID.search(said["outcome.stopped"])
