"""A score that is learned from people's ratings of explanations, and how well it predicts them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from theodolite.datasets.votes.voted import VotedExplanations
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.pipeline_output import ComparedModel, Produced, WorkContext
from theodolite.evidence.rating_summary import Aggregate, Ties
from theodolite.evidence.subject import Subject
from theodolite.pipelines.feature_pass import compute_weights_digest
from theodolite_reproductions.acceptance.embedding import StandsIn, embedder_for
from theodolite_reproductions.acceptance.features import (
    NEED_VECTORS,
    ExplanationFeatures,
    Explanations,
    common_labels,
)
from theodolite_reproductions.acceptance.models import (
    AcceptanceModel,
    RatedExplanations,
    SplitSettings,
    fit_score,
    predictions,
)
from theodolite_reproductions.acceptance.rendering import Rendering
from theodolite_reproductions.acceptance.score_file import tested_on
from theodolite_reproductions.acceptance.scorer import Scorer
from theodolite_reproductions.acceptance.splits import Apart
from theodolite_reproductions.acceptance.tables import (
    explanations_of,
    mean_known,
    table_of,
    votes_name,
    with_numbers,
    words_of,
)
from theodolite_reproductions.datasets.votes.technique_tables import technique_tables

PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
DEFAULT = {
    "kernel": AcceptanceModel(
        features=("words", "likeness", "label"), straight=("embedding",), chosen_by="correlation"
    )
}

ModelInputs: TypeAlias = tuple[
    RatingEvidence, RatedExplanations, ExplanationFeatures, SplitSettings
]
"""Votes with all that is known of the explanations, what is learned, from what, and the test."""


@dataclass(frozen=True, eq=False)
class Learned:
    """A score that was fitted to all ratings, and evidence on how well such scores do."""

    produced: Produced
    scorer: Scorer
    model: AcceptanceModel
    labels: tuple[str, ...]
    """Those that are features."""
    trained_on: str
    question: str
    evidence: RatingEvidence
    """With what scores expect that had not seen the explanation."""
    takes: Mapping[str, Literal["always", "sometimes"]]
    """What was said of the explanations beside themselves, and is a part of the features."""


@dataclass(frozen=True, kw_only=True)
class AcceptancePipeline:
    """Which scores are learned from the votes, from what, and on what they are tested."""

    embedding: str = ""
    """``minilm``, ``open_clip:…``, ``transformers_clip:…``: see ``load_embedding``. Empty if no
    features need one."""
    weights: Path | None = None
    classifier: str = ""
    """For ``stand_in``: the network whose classes describe an image."""
    classifier_weights: Path | None = None
    class_names: Path | None = None
    """Of that network, a JSON list in the order of its logits; where its library has none."""
    question: str = ""
    """Which question's votes; the first if empty."""
    models: Mapping[str, AcceptanceModel] = field(default_factory=lambda: dict(DEFAULT))
    """The first is the one that is kept; the others are compared with it."""
    aggregate: Aggregate = "mean"
    ties: Ties = "lowest"
    apart: Apart = "image"
    """What the test must have new: images (or questions), techniques, both, or nothing."""
    folds: int | None = None
    """Everything is tested once, in so many parts; 0: 70, 15 and 15 per cent, as published. Without
    it 5, and 0 where ``apart`` is ``both``, for which there are no folds."""
    repeats: int = 3
    """How many of the seeds compared scores are learned with."""
    rendering: Rendering = Rendering()
    license: str = ""
    """Of the votes, for the card of the learned score."""
    notes: tuple[str, ...] = ()

    def make(self, data: VotedExplanations, context: WorkContext) -> Produced:
        """Learn all scores, and let each predict votes on what it has not seen."""
        return self.learn(data, context).produced

    def learn(self, data: VotedExplanations, context: WorkContext) -> Learned:
        """The same, with the first score itself."""
        self._check()
        question = self.question or next(iter(data.questions))
        inputs = self._inputs(data, context)
        evidence, rated, features, split_settings = inputs[next(iter(self.models))]
        predictions_by_model = self._predict(inputs, context)
        first, *others = [
            ComparedModel(
                name,
                self._describe(name),
                [
                    [replace(inputs[name][0], predicted=predicted)]
                    for predicted in predictions_by_model[name]
                ],
            )
            for name in self.models
        ]
        seed, model = context.seeds[0], self.models[first.name]
        scorer = fit_score(model, features, rated, split_settings.whole(rated, seed), seed)
        produced = Produced(
            evidence=first.evidence,
            about={**first.about, "name": first.name, "votes": votes_name(data, question)},
            compared=[*others, *self._other_votes(data)],
            notes=(*data.notes, *self._notes(evidence, features), *self.notes),
            facts=self._facts(evidence, features, predictions_by_model[first.name][0]),
            inputs=data.digests() | self.digests(),
            model=scorer.arrays(),
            tables={
                "predictions": table_of(evidence, rated, predictions_by_model) | words_of(data),
                **technique_tables(data),
            },
            subject=Subject(
                "the explanations that people voted on", outputs="none", data=data.name
            ),
        )
        with_predictions = replace(evidence, predicted=mean_known(predictions_by_model[first.name]))
        takes = _takes(features.explanations.beside(model.blocks, self.rendering))
        return Learned(
            produced, scorer, model, features.labels, data.name, question, with_predictions, takes
        )

    def first_only(self) -> "AcceptancePipeline":
        """Without the scores that are only compared with the one that is kept."""
        self._check()
        name = next(iter(self.models))
        return replace(self, models={name: self.models[name]})

    @property
    def parts(self) -> int:
        """How many parts are tested one after the other; 0: one part only."""
        return (0 if self.apart == "both" else 5) if self.folds is None else self.folds

    def _inputs(self, data: VotedExplanations, context: WorkContext) -> dict[str, "ModelInputs"]:
        """What each score learns from, and how it is tested: as the pipeline says, or itself."""
        questions = {
            name: self._rating_evidence(data, model.question or self.question)
            for name, model in self.models.items()
        }
        first = next(iter(questions.values()))
        usual = self._features(data, first, context)
        return {
            name: (
                questions[name],
                RatedExplanations.of(questions[name], model.aggregate or self.aggregate, self.ties),
                usual
                if model.rendering is None
                else usual.rendered(self.rendering.but(model.rendering)),
                SplitSettings(model.apart or self.apart, self.parts),
            )
            for name, model in self.models.items()
        }

    def _predict(
        self, inputs: Mapping[str, "ModelInputs"], context: WorkContext
    ) -> dict[str, list[np.ndarray]]:
        """By score and seed."""
        main = next(iter(self.models))
        seeds = {
            name: context.seeds if name == main else context.seeds[: self.repeats]
            for name in self.models
        }
        total = sum(map(len, seeds.values()))
        predictions_by_model: dict[str, list[np.ndarray]] = {name: [] for name in self.models}
        for name, model in self.models.items():
            _, rated, features, split_settings = inputs[name]
            for seed in seeds[name]:
                context.progress(
                    "learned scores", sum(map(len, predictions_by_model.values())), total
                )
                splits = split_settings.splits(rated, seed)
                predictions_by_model[name].append(predictions(model, features, rated, splits, seed))
        context.progress("learned scores", total, total)
        return predictions_by_model

    def features_of(
        self, explanations: Explanations, labels: tuple[str, ...], context: WorkContext
    ) -> ExplanationFeatures:
        """Features of explanations; the embedding is loaded if a score needs it."""
        needed = {block for model in self.models.values() for block in model.blocks}
        embedder = None
        if self.embedding and needed & NEED_VECTORS:
            embedder = embedder_for(
                self.embedding,
                self.weights,
                self._stands_in(),
                context,
            )
        return ExplanationFeatures(explanations, embedder, self.rendering, labels)

    def digests(self) -> dict[str, str]:
        """Of the weights that vectors are made with."""
        return compute_weights_digest(self.weights) | self._stands_in().digests()

    def _stands_in(self) -> StandsIn:
        return StandsIn(self.classifier, self.classifier_weights, self.class_names)

    def _features(
        self, data: VotedExplanations, evidence: RatingEvidence, context: WorkContext
    ) -> ExplanationFeatures:
        return self.features_of(
            explanations_of(data, evidence), common_labels(data.explanations), context
        )

    def _rating_evidence(self, data: VotedExplanations, question: str) -> RatingEvidence:
        name = question or next(iter(data.questions))
        if name not in data.questions:
            raise EvidenceError("question", repr(name), f"one of {list(data.questions)}")
        return with_numbers(data, data.questions[name])

    def _other_votes(self, data: VotedExplanations) -> list[ComparedModel]:
        """Votes from which nothing is learned: other questions, and other sets beside these."""
        own = self.question or next(iter(data.questions))
        votes = [(data, name) for name in data.questions if name != own]
        votes += [(other, name) for other in data.beside for name in other.questions]
        return [
            ComparedModel(
                f"votes-{number}",
                {"kind": "votes", "votes": votes_name(of, name)},
                [[with_numbers(of, of.questions[name])]],
            )
            for number, (of, name) in enumerate(votes, start=1)
        ]

    def _check(self) -> None:
        if not self.models:
            raise EvidenceError("models", "none", "at least one")
        if not next(iter(self.models.values())).as_the_pipeline:
            raise EvidenceError(
                "models", "a first one with settings of its own", "the pipeline's",
                "It is the one that is kept.",
            )  # fmt: skip
        odd = [name for name in self.models if not PLAIN.fullmatch(name)]
        if odd:
            raise EvidenceError("models", repr(odd[0]), "names of letters, digits, '_', '.', '-'")
        if self.parts < 0 or self.parts == 1:
            raise EvidenceError("folds", f"{self.folds}", "2 or more, or 0 for 70, 15 and 15 %")
        if self.parts and self.apart == "both":
            raise EvidenceError("folds", f"{self.folds} with apart: both", "0", "Leave it out.")
        if self.repeats < 1:
            raise EvidenceError("repeats", f"{self.repeats}", "at least 1")

    def _describe(self, name: str) -> dict[str, float | int | str]:
        model = self.models[name]
        description: dict[str, float | int | str] = {
            "kind": "learned score",
            "scorer": model.scorer,
            "features": " + ".join(model.blocks),
        }
        if model.scorer in ("linear", "mlp"):
            description["variant"] = model.variant
        own = {"question": model.question, "aggregate": model.aggregate, "apart": model.apart}
        return description | {name: value for name, value in own.items() if value is not None}

    def _facts(
        self, evidence: RatingEvidence, features: ExplanationFeatures, predicted: np.ndarray
    ) -> tuple[tuple[str, float | int | str], ...]:
        first = next(iter(self.models))
        groups = evidence.samples.clusters
        return (
            ("explanations", len(evidence)),
            ("images or questions", "not known" if groups is None else len(np.unique(groups))),
            ("votes", int((~np.isnan(evidence.ratings)).sum())),
            ("explanations in the test", int((~np.isnan(predicted)).sum())),
            ("learned score that is kept", first),
            ("features", features.matrix(self.models[first].blocks).shape[1]),
            ("embedding", self.embedding or "none"),
        )

    def _notes(self, evidence: RatingEvidence, features: ExplanationFeatures) -> list[str]:
        known = evidence.samples.clusters is not None
        notes = [f"Scores are tested on {tested_on(self.apart, known=known)}."]
        if features.embedder is not None:
            notes.append(f"Embedding: {features.embedder.embedding.says}")
        return notes


def _takes(columns: Mapping[str, Sequence[str]]) -> dict[str, Literal["always", "sometimes"]]:
    """Of what is said of explanations, what was said of all of them, and what of some."""
    return {
        name: "always" if all(values) else "sometimes"
        for name, values in columns.items()
        if any(values)
    }
