"""Answers from a run on votes: a tiny file of PASTA's layout, whose votes a script gave.

The run is read and thrown away: nothing of it is kept as a result.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from theodolite._runs.engine.worker_choice import Engine
from theodolite._runs.folder.checksums import write_checksums
from theodolite._runs.folder.spec import read_spec
from theodolite._runs.run import run
from theodolite._runs.run_inputs import RunPaths
from theodolite.report.html import write_report
from theodolite_reproductions.acceptance import embedding
from theodolite_reproductions.claims.answers.votes import learned_answers
from theodolite_reproductions.claims.extraction import result_of
from theodolite_reproductions.claims.ledger import ledger
from theodolite_reproductions.claims.results import EntryAnswer, stored_results
from theodolite_reproductions.claims.verdict import cell_word
from theodolite_reproductions.protocols import PROTOCOLS

PROTOCOL = PROTOCOLS / "accepted_pasta.yaml"
TECHNIQUES = {1: ("GradCAM", "ResNet50"), 2: ("GradCAM", "ViT-B"), 3: ("EigenCAM", "ResNet50"),
              4: ("EigenCAM", "ViT-B"), 5: ("LIME", "ResNet50"), 6: ("LIME", "ViT-B")}  # fmt: skip
CONCEPTS = (40, 41, 43)
MODELS = ("paper", "ridge", "lasso", "with-label", "q2", "apart-none", "apart-technique",
          "label-median", "words-5", "template")  # fmt: skip


class Letters:
    """A sentence is its length and its vowels."""

    name, dimensions, normalized, says = "toy", 3, False, "A toy."

    def texts(self, sentences: Any) -> np.ndarray:
        rows = [[len(s) / 50, s.count("a") / 5, s.count("e") / 5] for s in sentences]
        return np.array(rows, np.float32).reshape(-1, 3)

    def images(self, images: Any) -> np.ndarray:
        return np.stack([np.asarray(p).mean(axis=(0, 1)) / 255 for p in images]).astype(np.float32)


def write_votes(root: Path) -> None:
    """Maps of ResNet50 are liked, and trees; concepts are not, sparse maps neither."""
    random = np.random.default_rng(0)
    (root / "activations").mkdir(parents=True)
    entries, scores = [], ["explanation,sparseness,removal (ROAD)"]
    for image in range(12):
        for technique in (*TECHNIQUES, *CONCEPTS):
            name = f"Coco_{image}_{technique}_home"
            sparse = random.normal()
            level = (
                2.6 - 0.5 * sparse + 0.8 * (TECHNIQUES.get(technique, ("", ""))[1] == "ResNet50")
            )
            level -= 1.2 * (technique in CONCEPTS)
            named = random.permutation(["roof", "tree", "sea", "cave", "sky"])[:2]
            level += 0.9 * ("tree" in named)
            shared = level + random.normal(0, 0.3)
            votes = [{f"Q{q}": int(np.clip(round(shared + random.normal(0, 0.5)), 1, 5))
                      for q in range(1, 7)} for _ in range(5)]  # fmt: skip
            content = {str(word): float(random.normal()) for word in named}
            (root / "activations" / f"{name}.json").write_text(json.dumps(content))
            scores.append(f"{name},{sparse},{random.normal()}")
            entries.append({"img": f"imgs/Coco_{image}_home.png", "Annotation": votes,
                            "explication": f"expl/{name}.png", "predictedclass": "home",
                            "GTclass": "home"})  # fmt: skip
    (root / "human_annotations.json").write_text(json.dumps(entries))
    (root / "scores.csv").write_text("\n".join(scores))
    lines = [f"{n},{m},{w},saliency" for n, (m, w) in TECHNIQUES.items()]
    lines += [f"{n},concept {n},CLIP,concept" for n in CONCEPTS]
    (root / "techniques.csv").write_text("\n".join(["number,method,network,modality", *lines]))


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[EntryAnswer]:
    root = tmp_path_factory.mktemp("pasta")
    write_votes(root / "data" / "pasta")
    content = yaml.safe_load(PROTOCOL.read_text())
    pipeline = content["pipeline"]
    pipeline |= {"embedding": "toy", "repeats": 3}
    del pipeline["weights"]
    pipeline["models"] = {name: pipeline["models"][name] for name in MODELS}
    for name, model in pipeline["models"].items():
        model["scorer"] = "lasso" if name == "lasso" else "ridge"
        model.pop("variant", None)
    content |= {"seeds": [0, 1, 2], "resampling": {"resamples": 30}}
    content["studies"][0]["resamples"] = 100
    (root / "accepted_pasta.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    at = RunPaths(root / "data", root / "run", root / "cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedding, "load_embedding", lambda *_, **__: Letters())
        run(read_spec(root / "accepted_pasta.yaml"), at, engine=Engine(workers=1))
    write_report(at.out)
    write_checksums(at.out)
    return list(result_of(at.out, root / "accepted_pasta.yaml").answers)


def headlines(answers: list[EntryAnswer]) -> dict[str, str]:
    return {
        a.entry: str(cell_word(ledger().entry(a.entry), a.low, a.high))
        for a in answers
        if a.nearest and a.low is not None and a.high is not None
    }


def test_what_was_planted_is_decided(answers: list[EntryAnswer]) -> None:
    words = headlines(answers)
    assert words["P004-F0-01"] == "for"  # saliency above concepts
    assert words["P004-T10-01"] == "for"  # sparse maps are disliked
    assert words["P004-T1-01"] in ("for", "unclear")  # nothing was planted
    (network,) = [a for a in answers if a.entry == "P004-F0-02" and a.settings["minus"] == "ViT-B"]
    assert network.low is not None and network.low > 0 and network.unit == "methods"
    kinds = [a for a in answers if a.entry == "P004-F0-01"]
    assert {a.unit for a in kinds} == {"techniques"} and {a.n for a in kinds} == {9}
    assert {a.settings["quality"] for a in kinds} == {
        "fidelity", "complexity", "objectivity", "robustness"
    }  # fmt: skip


def test_every_table_that_the_files_allow_is_answered(answers: list[EntryAnswer]) -> None:
    entries = {answer.entry for answer in answers}
    assert {
        "P004-T1-01", "P004-T3-01", "P004-T3-02", "P004-T3-03", "P004-T10-01", "P004-T11-01",
        "P004-T12-01", "P004-T12-02", "P004-F0-01", "P004-F0-02", "P004-F0-04", "P004-F0-05",
        "P004-F0-06", "P004-F0-08", "P004-F0-13", "P004-F0-14", "P004-F0-15", "P004-AB-01",
        "P004-AB-02", "P004-AB-03", "P004-AB-05", "P004-AB-06",
    } <= entries  # fmt: skip
    assert not {"P004-F0-03", "P004-F0-10"} & entries, "these need people with names"
    scorers = {a.settings["difference"] for a in answers if a.entry == "P004-AB-03"}
    assert scorers == {"paper minus ridge", "paper minus lasso"}
    same = next(a for a in answers if a.settings.get("difference") == "paper minus ridge")
    assert same.effect == pytest.approx(0), "the same scorer twice"
    rows = [a for a in answers if a.entry == "P004-T12-01"]
    assert len(rows) == 9 and set(rows[0].ours) == {
        "fidelity", "complexity", "objectivity", "robustness"
    }  # fmt: skip


def test_nothing_of_scripted_votes_is_kept() -> None:
    assert not [r for r in stored_results() if r.protocol in ("accepted_pasta", "techniques_votes")]


def test_no_scores_no_answers() -> None:
    assert learned_answers({}) == []
