"""Concepts of texts by logistic regression, a head on them, and edits of one concept each."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Classes, Concepts, Samples
from theodolite.evidence.base import Evidence
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.edit import EditEvidence
from theodolite.evidence.pipeline_output import ComparedModel, Produced, WorkContext
from theodolite.evidence.subject import Claim, Subject
from theodolite.pipelines.feature_pass import compute_weights_digest
from theodolite_reproductions.acceptance.embedding import StandsIn, embedder_for
from theodolite_reproductions.edits.texts import EditedTexts

TextFeatures = Literal["embedding", "tf-idf"]
FEWEST_TEXTS = 3
"""Texts that a word, or two in a row, must occur in to be a feature."""
STEPS = 5_000
SAYS: dict[str, str] = {
    "embedding": "sentence embeddings",
    "tf-idf": "words and pairs of words",
}


@dataclass(frozen=True, eq=False)
class _Bottleneck:
    """What one set of features comes to."""

    concepts: Float[np.ndarray, "texts concepts"]
    """Probabilities."""
    head: Float[np.ndarray, "texts classes"]
    """What the head makes of these."""
    output: Float[np.ndarray, "texts classes"]
    """What the explained model says from the features themselves."""
    weights: Float[np.ndarray, "concepts classes"]


@dataclass(frozen=True, kw_only=True)
class TextBottleneckPipeline:
    """A concept bottleneck on features of texts; the model that it explains has the features."""

    features: Sequence[TextFeatures] = ("embedding", "tf-idf")
    """The first is the one that the verdicts are about; ``tf-idf`` of words and pairs of words is
    the null of everything that a network of sentences adds."""
    embedding: str = "minilm"
    weights: Path | None = None
    penalty: float = 0.1
    """Of squared weights, for concepts, head and the explained model."""

    def make(self, data: EditedTexts, context: WorkContext) -> Produced:
        """Fit every bottleneck, and ask each about the test texts and their edits."""
        self._check(context)
        evidence: dict[str, list[Evidence]] = {}
        facts: list[tuple[str, float | int | str]] = []
        for name in self.features:
            context.progress("bottlenecks", len(evidence), len(self.features))
            fitted = _fitted(data, self._features(name, data, context), self.penalty)
            evidence[name] = [_concepts(data, fitted), _edits(data, fitted)]
            facts += _facts(name, data, fitted)
        context.progress("bottlenecks", len(evidence), len(self.features))
        first, *others = self.features
        return Produced(
            evidence=[evidence[first]],
            compared=[ComparedModel(n, {"features": n}, [evidence[n]]) for n in others],
            about={"name": first, "features": first},
            notes=(*data.notes, "Edits of one text count as one: intervals are over originals."),
            facts=facts,
            inputs={**data.digests, **compute_weights_digest(self.weights)},
            claim=Claim("This review, because of these concepts", samples="test texts"),
            subject=Subject(
                f"the {len(data.concepts)} concepts of a text bottleneck",
                f"a logistic regression on {SAYS[first]}",
                "model",
                data=data.name,
            ),
        )

    def _check(self, context: WorkContext) -> None:
        if len(context.seeds) != 1:
            raise EvidenceError("seeds", f"{len(context.seeds)}", "one: nothing here is random")
        if not self.features or len(set(self.features)) < len(self.features):
            raise EvidenceError("features", f"{list(self.features)}", "some, each once")
        if not self.penalty > 0:
            raise EvidenceError("penalty", f"{self.penalty}", "more than 0")

    def _features(self, name: str, data: EditedTexts, context: WorkContext) -> Any:
        if name == "tf-idf":
            from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415  slow

            words = TfidfVectorizer(ngram_range=(1, 2), min_df=FEWEST_TEXTS, sublinear_tf=True)
            words.fit([data.texts[i] for i in data.train])
            return words.transform(data.texts)
        embedder = embedder_for(self.embedding, self.weights, StandsIn(), context)
        return embedder.texts(data.texts)


def _fitted(data: EditedTexts, features: Any, penalty: float) -> _Bottleneck:
    """All fits see the training texts alone."""
    columns = []
    for j, truth in enumerate(data.truth.T):
        rows = data.train[data.truth_known[data.train, j]]
        what = f"concept {data.concepts[j]!r}"
        columns.append(_model(features[rows], truth[rows], penalty, what).predict_proba(features))
    concepts = np.stack([column[:, 1] for column in columns], axis=1)
    rows = data.train[data.labels[data.train] >= 0]
    head = _model(concepts[rows], data.labels[rows], penalty, "labels")
    network = _model(features[rows], data.labels[rows], penalty, "labels")
    if len(head.classes_) < max(len(data.classes), 3):
        got = f"{len(head.classes_)} classes to train on"
        raise EvidenceError("labels", got, f"all {len(data.classes)}, three or more")
    return _Bottleneck(
        concepts, head.predict_proba(concepts), network.predict_proba(features), head.coef_.T
    )


def _model(features: Any, targets: np.ndarray, penalty: float, what: str) -> Any:
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  slow to load

    if len(set(targets.tolist())) < 2:
        raise EvidenceError(what, "one value in all training texts", "two or more")
    return LogisticRegression(C=1 / penalty, max_iter=STEPS).fit(features, targets)


def _concepts(data: EditedTexts, fitted: _Bottleneck) -> ConceptEvidence:
    rows = data.test[data.labels[data.test] >= 0]
    return ConceptEvidence(
        values=fitted.concepts[rows],
        truth=data.truth[rows],
        known=data.truth_known[rows],
        labels=data.labels[rows],
        predicted=fitted.head[rows].argmax(axis=1),
        weights=fitted.weights,
        concepts=Concepts(data.concepts),
        classes=Classes(data.classes),
        samples=_samples(data, rows),
    )


def _edits(data: EditedTexts, fitted: _Bottleneck) -> EditEvidence:
    """A concept of two sides moves as one: praised less criticized."""
    values = fitted.concepts[:, 0::2] - fitted.concepts[:, 1::2]
    before, after = data.edits.T
    return EditEvidence(
        edited=data.edited,
        direction=data.direction.astype(float),
        before=values[before],
        after=values[after],
        output_before=fitted.output[before],
        output_after=fitted.output[after],
        surrogate_before=fitted.head[before],
        surrogate_after=fitted.head[after],
        concepts=Concepts(data.aspects),
        classes=Classes(data.classes),
        samples=_samples(data, after),
    )


def _samples(data: EditedTexts, rows: np.ndarray) -> Samples:
    return Samples(
        index=rows, ids=np.array([data.ids[i] for i in rows]), clusters=data.originals[rows]
    )


def _facts(
    name: str, data: EditedTexts, fitted: _Bottleneck
) -> list[tuple[str, float | int | str]]:
    rows = data.test[data.labels[data.test] >= 0]
    bottleneck, model = fitted.head[rows].argmax(axis=1), fitted.output[rows].argmax(axis=1)
    labels = data.labels[rows]
    return [
        (f"{name}: accuracy of the bottleneck", float(np.mean(bottleneck == labels))),
        (f"{name}: accuracy of the explained model", float(np.mean(model == labels))),
        (f"{name}: share of texts on which both agree", float(np.mean(bottleneck == model))),
    ]
