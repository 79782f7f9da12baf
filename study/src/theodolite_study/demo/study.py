"""Write the study of `study demo`, and of walks that need one."""

from pathlib import Path

from theodolite_study.demo.material import write_demo_material
from theodolite_study.new_study import DEMO_ETHICS, DEMO_TEXTS, NewStudy, write_new_study

CONTACT = "the person who gave you this link"
VOTES = 5
WORDS = {
    "de": {
        "title": "Eine Studie zum Ausprobieren: gezeichnete Bilder",
        "contact": "die Person, von der Sie diesen Link haben",
    },
    "fr": {
        "title": "Une étude à essayer\u00a0: images dessinées",
        "contact": "la personne qui vous a donné ce lien",
    },
}


def write_demo_study(folder: Path, people: int = 0) -> None:
    """Write a study with drawn images; with ``people``, for that number of them."""
    material = write_demo_material(folder, seed=0)
    votes = min(VOTES, people) if people else VOTES
    quota = -(-len(material.of("real")) * votes // people) if people else 20
    texts = {language: DEMO_TEXTS[language] | words for language, words in WORDS.items()}
    beginning = NewStudy(
        title="A study to try: drawn images", contact=CONTACT, slug="demo", votes=votes,
        quota=quota, languages=("de", "fr"), ethics=DEMO_ETHICS, pay="none", texts=texts,
    )  # fmt: skip
    write_new_study(folder, material, beginning)
