"""delphi, SAEBench and Neuronpedia: files as these write them, and a corpus of broken ones."""

import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from theodolite._runs.auditing.single import score
from theodolite._storage.text import read_json_lines
from theodolite.bridges.delphi import delphi_scores
from theodolite.bridges.neuronpedia import (
    detection_texts,
    read_activations,
    read_explanations,
    write_explanations,
)
from theodolite.bridges.saebench import autointerp_judgements, read_saebench, write_saebench
from theodolite.errors import EvidenceError
from theodolite.language.texts.explanations import LatentExplanation
from theodolite.metrics.language.judges import JudgeDetection

NAME = "layers.5_latent7.txt"


def example(active: bool, prediction: bool | None, text: str = "a cat", **more: Any) -> Any:
    tokens = [f" {word}" for word in text.split()]
    values = [1.0 * active] * len(tokens)
    fields = {"str_tokens": tokens, "activations": values, "distance": 1, "activating": active}
    fields |= {"prediction": prediction, "probability": 0.75, "correct": prediction == active}
    return fields | more


def intruder(prediction: int) -> Any:
    sample = {"examples": ["a", "b", "c"], "intruder_index": 1, "tokens": [["a"], ["b"], ["c"]]}
    return {"sample": sample, "prediction": prediction, "correct_index": 1, "interpretation": ""}


def delphi_folder(folder: Path, **files: Any) -> Path:
    for kind, content in files.items():
        (folder / kind).mkdir(parents=True, exist_ok=True)
        (folder / kind / NAME).write_text(json.dumps(content))
    return folder


def test_delphi_answers_become_evidence(tmp_path: Path) -> None:
    answers = [
        example(True, True, "x one"), example(True, False, "x two"), example(False, None, "y"),
        example(False, False, "z"), example(True, True, "x three"),
    ]  # fmt: skip
    marks = [example(True, True), example(False, False)]
    folder = delphi_folder(
        tmp_path, detection=answers, fuzz=marks, intruder=[intruder(1), intruder(2), intruder(-1)]
    )
    (folder / "detection" / "notes.md").write_text("not a score")
    evidence = delphi_scores(folder, judge="some model")
    assert evidence.latents.names == ("layers.5_latent7",)
    assert evidence.judges.names == ("some model",)
    assert evidence.n_unread == 2
    assert evidence.is_task("fuzzing across").sum() == 2
    # two thirds of the active ones were noticed, and no inactive one was named
    values = JudgeDetection.of(evidence, over="judges").value()[:, 0]
    assert values[:2] == pytest.approx([(2 / 3 + 1) / 2, 3 / 4])
    rounds = evidence.is_task("intruder")
    np.testing.assert_array_equal(evidence.answer[rounds], [1.0, 0.0, np.nan])
    assert (evidence.texts[rounds] == 3).all()
    assert set(delphi_scores(folder, answers="probability").answer[:5]) == {0.75}
    inside = [example(True, True), example(False, False, activations=[0.5, 0.0])]
    within = delphi_scores(delphi_folder(tmp_path / "other", fuzz=inside))
    assert within.is_task("fuzzing").all()
    # one text is one sequence, whoever is asked about it
    assert within.sequence.tolist() == [0, 0]


def autointerp(**changed: Any) -> dict[str, Any]:
    config = {
        "n_top_ex_for_scoring": 2, "n_random_ex_for_scoring": 10, "n_iw_sampled_ex_for_scoring": 2,
    }  # fmt: skip
    latents = {
        "3": {"predictions": [1, 2, 9], "correct seqs": [1, 2, 3, 4], "score": 11 / 14},
        "8": {"predictions": [], "correct seqs": [1, 2, 3, 4], "score": 10 / 14},
    }
    content = {
        "eval_type_id": "autointerp", "eval_config": config, "eval_id": "x",
        "eval_result_metrics": {"autointerp": {"autointerp_score": 0.75, "autointerp_std": None}},
        "sae_lens_id": "layer 5", "eval_result_unstructured": latents,
    }  # fmt: skip
    return content | changed


def write(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content))
    return path


def test_saebench_in(tmp_path: Path) -> None:
    path = write(tmp_path / "results.json", autointerp())
    result = read_saebench(path)
    assert result.metrics["autointerp.autointerp_score"] == 0.75
    assert math.isnan(result.metrics["autointerp.autointerp_std"])
    assert "no interval" in result.notes[0]
    assert "unreliable" in read_saebench(write(path, autointerp(eval_type_id="tpp"))).notes[1]
    evidence = autointerp_judgements(write(path, autointerp()))
    values = JudgeDetection.of(evidence, by=("accuracy",)).value()[0]
    assert values == pytest.approx([11 / 14, 10 / 14])
    floor = {
        n.name: n.value for n in score("judge_detection", evidence, resamples=50).sweep[0].nulls
    }
    assert floor["always no"] == pytest.approx(0.714286, abs=1e-6)


def test_saebench_out_and_in_again(tmp_path: Path) -> None:
    evidence = autointerp_judgements(write(tmp_path / "in.json", autointerp()))
    single = score("judge_detection", evidence, resamples=50)
    path = tmp_path / "out.json"
    write_saebench(path, [single], sae_lens_id="layer 5", eval_id="a", epoch_millis=1)
    result = read_saebench(path)
    assert result.evaluation == "theodolite"
    assert result.metrics["detects.judge_detection_balanced"] == pytest.approx(single.value)
    hardest = result.metrics["detects.judge_detection_balanced_null"]
    assert hardest == pytest.approx(single.null.value)
    first = path.read_bytes()
    write_saebench(path, [single], sae_lens_id="layer 5", eval_id="a", epoch_millis=1)
    assert path.read_bytes() == first


def lines(path: Path, *content: Any, packed: bool = True) -> Path:
    text = "\n".join(c if isinstance(c, str) else json.dumps(c) for c in content).encode()
    path.write_bytes(gzip.compress(text) if packed else text)
    return path


TOP = {"index": "7", "tokens": ["a", " cat"], "values": [0.0, 3.5], "modelId": "m", "unknown": [{}]}
LABEL = {"index": "7", "description": "cats", "modelId": "m", "layer": "5-res", "typeName": "auto"}


def test_neuronpedia_in_and_out(tmp_path: Path) -> None:
    lines(tmp_path / "batch-0.jsonl.gz", LABEL, "", LABEL | {"index": 9, "typeName": None})
    lines(tmp_path / "batch-1.jsonl", LABEL | {"explanationModelName": "gpt"}, packed=False)
    labels = read_explanations(tmp_path)
    assert [(entry.latent, entry.author) for entry in labels] == [(7, "auto"), (9, ""), (7, "gpt")]
    path = tmp_path / "out" / "batch-0.jsonl.gz"
    write_explanations(
        path, labels[:1], {7: "judge_detection 0.81 [0.75, 0.86], null 0.52"}, model="m"
    )
    assert read_explanations(path)[0] == LatentExplanation(7, "text", "cats", "auto")
    assert next(iter(read_json_lines(path)))["notes"].startswith("judge_detection 0.81")
    activations = read_activations(lines(tmp_path / "top.jsonl.gz", TOP))
    assert activations[0].text == "a cat"


def test_what_an_export_does_not_have_is_named(tmp_path: Path) -> None:
    top = read_activations(lines(tmp_path / "top.jsonl.gz", TOP, TOP))
    with pytest.raises(EvidenceError, match="2 texts in which it is active and 0 in which it is"):
        detection_texts(top, 7)
    silent = TOP | {"values": [0.0, 0.0]}
    both = read_activations(lines(tmp_path / "more.jsonl.gz", TOP, silent))
    assert [len(side) for side in detection_texts(both, 7)] == [1, 1]


def detection(content: Any) -> Callable[[Path], Any]:
    return lambda folder: delphi_scores(delphi_folder(folder, detection=content))


def rounds(content: Any) -> Callable[[Path], Any]:
    return lambda folder: delphi_scores(delphi_folder(folder, intruder=content))


def raw(reader: Callable[[Path], Any], name: str, content: bytes) -> Callable[[Path], Any]:
    def read(folder: Path) -> Any:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
        return reader(folder if name.startswith("detection/") else folder / name)

    return read


def bench(reader: Callable[[Path], Any], **changed: Any) -> Callable[[Path], Any]:
    return lambda folder: reader(write(folder / "r.json", autointerp(**changed)))


def export(reader: Callable[[Path], Any], *content: Any) -> Callable[[Path], Any]:
    return lambda folder: reader(lines(folder / "b.jsonl.gz", *content))


def without(content: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in content.items() if key != name}


GOOD, PATH = example(True, True), f"detection/{NAME}"
LATENT = {"predictions": [1], "correct seqs": [1]}
BOMB = gzip.compress(b"[" + b" " * (3 << 20))
BROKEN: dict[str, Callable[[Path], Any]] = {
    "no folder": lambda folder: delphi_scores(folder / "absent"),
    "no file": lambda folder: delphi_scores(folder),
    "empty list": detection([]),
    "an object": detection({"a": 1}),
    "a list of texts": detection(["a"]),
    "no tokens": detection([without(GOOD, "str_tokens")]),
    "tokens of another type": detection([GOOD | {"str_tokens": [1]}]),
    "tokens as a text": detection([GOOD | {"str_tokens": "abc"}]),
    "no truth": detection([without(GOOD, "activating")]),
    "truth as a text": detection([GOOD | {"activating": "yes"}]),
    "truth as a share": detection([GOOD | {"activating": 0.5}]),
    "no prediction": detection([without(GOOD, "prediction")]),
    "prediction as a number": detection([GOOD | {"prediction": 2}]),
    "prediction as a list": detection([GOOD | {"prediction": [True]}]),
    "broken JSON": raw(delphi_scores, PATH, b'[{"str_tokens": '),
    "not UTF-8": raw(delphi_scores, PATH, b"\xff\xfe\x00"),
    "deep nesting": raw(delphi_scores, PATH, b"[" * 200_000),
    "pickled": raw(delphi_scores, PATH, b"\x80\x04\x95"),
    "a probability above 1": lambda folder: delphi_scores(
        delphi_folder(folder, detection=[GOOD | {"probability": 1.5}]), answers="probability"
    ),
    "no number": lambda folder: delphi_scores(
        delphi_folder(folder, detection=[GOOD | {"probability": "0.5"}]), answers="probability"
    ),
    "a fuzzing file without activations": lambda folder: delphi_scores(
        delphi_folder(folder, fuzz=[without(GOOD, "activations")])
    ),
    "activations that are none": lambda folder: delphi_scores(
        delphi_folder(folder, fuzz=[example(False, True, activations=[math.inf])])
    ),
    "a round without sample": rounds([{"prediction": 1}]),
    "a round of one": rounds(
        [{"sample": {"tokens": [["a"]], "intruder_index": 0}, "prediction": 0}]
    ),
    "an intruder out of range": rounds(
        [{"sample": {"tokens": [["a"], ["b"]], "intruder_index": 2}, "prediction": 0}]
    ),
    "a named text in words": rounds([intruder(1) | {"prediction": "the second"}]),
    "results that are a list": raw(read_saebench, "r.json", b"[]"),
    "results that are cut": raw(read_saebench, "r.json", b'{"eval_type_id": "core"'),
    "no results": lambda folder: read_saebench(folder / "absent.json"),
    "no type": bench(read_saebench, eval_type_id=None),
    "metrics of another type": bench(read_saebench, eval_result_metrics=[1]),
    "a category of another type": bench(read_saebench, eval_result_metrics={"core": 1}),
    "a metric in words": bench(read_saebench, eval_result_metrics={"core": {"loss": "low"}}),
    "a metric without end": bench(read_saebench, eval_result_metrics={"core": {"l": math.inf}}),
    "a nested metric": bench(read_saebench, eval_result_metrics={"core": {"l": {"m": 1}}}),
    "another evaluation": bench(autointerp_judgements, eval_type_id="core"),
    "no latents": bench(autointerp_judgements, eval_result_unstructured={}),
    "latents as a list": bench(autointerp_judgements, eval_result_unstructured=[1]),
    "a latent with a name": bench(autointerp_judgements, eval_result_unstructured={"a": LATENT}),
    "a window that is not there": bench(
        autointerp_judgements, eval_result_unstructured={"1": LATENT | {"correct seqs": [15]}}
    ),
    "windows in words": bench(
        autointerp_judgements, eval_result_unstructured={"1": LATENT | {"predictions": "1, 2"}}
    ),
    "no number of windows": bench(autointerp_judgements, eval_config={}),
    "too many windows": bench(
        autointerp_judgements,
        eval_config=autointerp()["eval_config"] | {"n_top_ex_for_scoring": 9e9},
    ),
    "an empty folder": read_explanations,
    "no export": lambda folder: read_explanations(folder / "absent.jsonl"),
    "no index": export(read_explanations, without(LABEL, "index")),
    "an index in words": export(read_explanations, LABEL | {"index": "seven"}),
    "a negative index": export(read_explanations, LABEL | {"index": -1}),
    "a huge index": export(read_explanations, LABEL | {"index": "9" * 400}),
    "no description": export(read_explanations, without(LABEL, "description")),
    "a description of another type": export(read_explanations, LABEL | {"description": ["cats"]}),
    "a line that is a list": export(read_explanations, [LABEL]),
    "a line that is cut": export(read_explanations, LABEL, '{"index": "7", "descr'),
    "a long line": export(read_explanations, LABEL | {"description": "x" * (1 << 20)}),
    "a long description": export(read_explanations, LABEL | {"description": "x" * 30_000}),
    "not packed": raw(read_explanations, "b.jsonl.gz", b'{"index": 1}'),
    "cut packing": raw(read_explanations, "b.jsonl.gz", gzip.compress(b"x" * 9999)[:-20]),
    "a line that unpacks without end": raw(read_explanations, "b.jsonl.gz", BOMB),
    "values that are too few": export(read_activations, TOP | {"values": [1.0]}),
    "values that are texts": export(read_activations, TOP | {"values": ["1", "2"]}),
    "values without end": export(read_activations, TOP | {"values": [math.nan, 1.0]}),
    "no token": export(read_activations, TOP | {"tokens": [], "values": []}),
    "tokens that are numbers": export(read_activations, TOP | {"tokens": [1, 2]}),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_refused_in_one_sentence(name: str, tmp_path: Path) -> None:
    with pytest.raises(EvidenceError) as error:
        BROKEN[name](tmp_path)
    assert len(str(error.value).splitlines()) == 1


def test_lines_have_limits(tmp_path: Path) -> None:
    path = lines(tmp_path / "b.jsonl.gz", *[LABEL] * 50)
    assert len(list(read_json_lines(path))) == 50
    for limits, says in (
        ({"most_lines": 49}, "more lines"),
        ({"limit": 2000}, "when unpacked"),
        ({"longest": 20}, "a longer line, 1"),
    ):
        with pytest.raises(EvidenceError, match=says):
            list(read_json_lines(path, **limits))
    with pytest.raises(EvidenceError, match="more lines"):
        read_explanations(tmp_path, most_lines=10)
