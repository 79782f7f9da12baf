"""A dictionary of a tiny language model from files of this machine, and what is held against it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from theodolite._storage.text import read_text
from theodolite.datasets.labeled_texts import sae_probes
from theodolite.datasets.text_table import text_table
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.evidence.pipeline_output import WorkContext
from theodolite.language.models.hooked import HookedModel
from theodolite.language.models.loading import load_language_model, randomize_weights
from theodolite.language.models.trained_dictionaries import (
    compute_unexplained_variance,
    coordinate_dictionary,
    train_dictionary,
)
from theodolite.language.sae_baselines import BASELINES
from theodolite.language.sae_pipeline import LanguageFeaturesPipeline

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

WORDS = ["<s>", "the", "cat", "dog", "sat", "ran", "here", "a", "<unk>"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of two blocks and a tokenizer of eight words, as transformers saves them."""
    path = tmp_path_factory.mktemp("model")
    words = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token=WORDS[-1])
    )
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, bos_token=WORDS[0], unk_token=WORDS[-1]
    )
    fast.save_pretrained(path)
    config = transformers.GPTNeoXConfig(
        vocab_size=len(WORDS), hidden_size=16, intermediate_size=24, num_hidden_layers=2,
        num_attention_heads=2, max_position_embeddings=64,
    )  # fmt: skip
    torch.manual_seed(0)
    transformers.GPTNeoXForCausalLM(config).save_pretrained(path)
    return path


def concept_sets(folder: Path) -> Path:
    """Texts with and without a cat, and with and without an end that runs."""
    folder.mkdir(exist_ok=True)
    random = np.random.default_rng(0)
    middle = [" ".join(random.choice(WORDS[4:8], 3)) for _ in range(24)]
    cats = [f"the {'cat' if i % 2 else 'dog'} {m} {i}" for i, m in enumerate(middle)]
    ends = [f"the dog {m} here {i} {'ran' if i % 2 else 'sat'}" for i, m in enumerate(middle)]
    for name, texts in (("cats", cats), ("ends", ends)):
        lines = [f'"{t}","{"yes" if i % 2 else "not"}"' for i, t in enumerate(texts)]
        (folder / f"{name}.csv").write_text("\n".join(['"prompt","target"', *lines]))
    return folder


def test_texts_of_concepts(tmp_path: Path) -> None:
    root = concept_sets(tmp_path)
    data = sae_probes(root, sets=["cats", "ends"], last_tokens=["ends"], most=12)
    assert len(data.texts) == 24 and data.label.sum() == 12
    assert all(("cat" in t) == has for t, has in zip(data.texts[:12], data.label[:12], strict=True))
    assert data.known[:12, 0].all() and not data.known[:12, 1].any()
    assert not (data.truth & ~data.known).any() and data.last_tokens.tolist() == [False, True]
    other = sae_probes(root, sets=["cats"], most=12, seed=1)
    assert set(other.texts) != set(data.texts[:12])
    pa = pytest.importorskip("pyarrow")
    with pa.output_stream(tmp_path / "packed.csv.zst", compression="zstd") as stream:
        stream.write((root / "cats.csv").read_bytes())
    packed = sae_probes(root, sets=["packed"], most=12)
    assert packed.texts == data.texts[:12]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("prompt,target\na,x\nb,x", "1 targets"),
        ("prompt,label\na,x", "no prompt or no target"),
        ("prompt,target\na,x\nb,y", "1 of"),
        (f"prompt,target\n{'a' * 100_001},x", "100,001 characters"),
    ],
)
def test_texts_that_are_refused(tmp_path: Path, content: str, reason: str) -> None:
    (tmp_path / "odd.csv").write_text(content)
    with pytest.raises(UnsafeInputError, match=reason):
        sae_probes(tmp_path, sets=["odd"])
    with pytest.raises(EvidenceError):
        sae_probes(tmp_path, sets=[])
    with pytest.raises(UnsafeInputError, match="no such file"):
        sae_probes(tmp_path, sets=["other"])


def test_a_packed_bomb_is_refused(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    with pa.output_stream(tmp_path / "a.csv.zst", compression="zstd") as stream:
        stream.write(b"0" * (3 << 20))
    with pytest.raises(UnsafeInputError, match="more when unpacked"):
        read_text(tmp_path / "a.csv.zst", limit=1 << 20)
    (tmp_path / "b.csv.zst").write_bytes(b"nothing of the kind")
    with pytest.raises(UnsafeInputError, match="broken archive"):
        read_text(tmp_path / "b.csv.zst")


def test_a_dictionary_learns_what_was_planted() -> None:
    random = np.random.default_rng(0)
    directions = random.normal(size=(8, 12))
    codes = random.random((600, 8)) * (random.random((600, 8)) < 0.15)
    activations = codes @ directions + 5.0
    short, long = (
        compute_unexplained_variance(
            train_dictionary(activations, 24, 3, steps=steps, seed=0), activations
        ).value
        for steps in (1, 300)
    )
    assert long < 0.5 * short
    again = train_dictionary(activations, 24, 3, steps=5, seed=0)
    assert_allclose(again.rows, train_dictionary(activations, 24, 3, steps=5, seed=0).rows)
    assert ((again.encode(activations) > 0).sum(axis=1) <= 3).all()


def test_coordinates_are_as_often_active() -> None:
    activations = np.random.default_rng(0).normal(2.0, 3.0, (1000, 4))
    plain = coordinate_dictionary(activations, 0.05)
    codes = plain.encode(activations)
    assert codes.shape == (1000, 8)
    assert_allclose((codes > 0).mean(axis=0), 0.05, atol=0.002)
    assert_allclose(plain.rows[0], [activations[:, 0].std(), 0, 0, 0], rtol=1e-5)
    with pytest.raises(EvidenceError):
        coordinate_dictionary(activations, 1.0)


def test_a_network_drawn_anew_keeps_means_and_spreads(folder: Path) -> None:
    model = load_language_model(folder).model
    other = randomize_weights(model, 0)
    first, second = (dict(m.named_parameters()) for m in (model, other))
    for name, weights in first.items():
        if weights.ndim > 1:
            assert not torch.equal(weights, second[name])
            assert_allclose(second[name].std().item(), weights.std().item(), rtol=0.3)
        else:
            assert torch.equal(weights, second[name])


def produced(folder: Path, root: Path, cache: Path, **options: Any) -> Any:
    data = sae_probes(root, sets=["cats", "ends"], last_tokens=["ends"], most=16)
    settings = {"module": "gpt_neox.layers.0", "latents": 20, "active": 3, "steps": 20} | options
    pipeline = LanguageFeaturesPipeline(
        model=folder, random_dictionaries=3, exploratory=True, **settings
    )
    return pipeline.make(data, WorkContext([0], cache))


def test_evidence_of_all_that_is_compared(folder: Path, tmp_path: Path) -> None:
    root = concept_sets(tmp_path / "sets")
    made = produced(folder, root, tmp_path / "cache", most_tokens=4)
    (main,) = made.evidence[0]
    assert [model.name for model in made.compared] == list(BASELINES)
    compared = {model.name: model.evidence[0][0] for model in made.compared}
    for name in ("random", "coordinates", "frozen_decoder", "permuted_decoder"):
        assert_allclose(compared[name].loss.flat, main.loss.flat)  # one network, run once
        assert (compared[name].loss_spliced.flat != main.loss_spliced.flat).any()
    assert compared["permuted_decoder"].value is None and compared["neurons"].loss is None
    assert len(compared["neurons"].latents) == 2 * 24
    assert main.chance_pooled.shape == (32, 3, 20) and len(main.concepts) == 2
    assert max(main.tokens.lengths) == 4
    ran = WORDS.index("ran")
    at_end = [main.tokens[n][-1] == ran for n in range(16, 32)]
    assert at_end == main.truth[16:, 1].tolist()
    again = produced(folder, root, tmp_path / "cache", most_tokens=4)
    assert_allclose(again.evidence[0][0].value.flat, main.value.flat)
    assert len(list((tmp_path / "cache" / "activations").iterdir())) == 3
    untrained_codes = compared["untrained"].value.flat
    assert len(untrained_codes) and not np.array_equal(untrained_codes, main.value.flat)


def test_activations_are_computed_once_a_network(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    compute = HookedModel.activations

    def counted(self: HookedModel, ids: Any) -> np.ndarray:
        calls.append(len(ids))
        return compute(self, ids)

    monkeypatch.setattr(HookedModel, "activations", counted)
    produced(folder, concept_sets(tmp_path / "sets"), tmp_path / "cache")
    assert calls == [1, 32, 32, 32]  # one text to see the width; trained, neurons, untrained


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsafeInputError, match="neither"):
        load_language_model(tmp_path)


def test_start_tokens(folder: Path) -> None:
    loaded = load_language_model(folder)
    assert loaded.start() == 0 and loaded.start("the") == 1
    assert loaded.start("<unk>") == WORDS.index("<unk>")
    with pytest.raises(EvidenceError, match="start token"):
        loaded.start("<nothing>")


def test_texts_without_tokens_are_left_out_with_their_labels(folder: Path, tmp_path: Path) -> None:
    table = tmp_path / "texts.csv"
    lines = [f"the {'cat' if i % 2 else 'dog'} sat,{i % 2}" for i in range(16)]
    table.write_text("\n".join(["text,cat", "\u200b,1", *lines]))
    data = text_table(table)
    pipeline = LanguageFeaturesPipeline(
        model=folder,
        module="gpt_neox.layers.0",
        steps=2,
        random_dictionaries=1,
        beside=["random"],
        exploratory=True,
    )
    made = pipeline.make(replace(data, texts=("", *data.texts[1:])), WorkContext([0], tmp_path))
    (main,) = made.evidence[0]
    assert len(main.tokens) == 16 and len(main.latents) == 32
    assert main.truth[:, 0].tolist() == [i % 2 == 1 for i in range(16)]
    assert any("1 texts without any token" in note for note in made.notes)
