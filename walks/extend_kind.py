"""Add a kind of evidence: declare its arrays and a metric, audit it, and check both.

Run it with ``pip install 'theodolite[testing]'``.
"""

from passage import PassageEvidence

import theodolite
from theodolite.testing import check_kind, check_metric

evidence = PassageEvidence.planted(0)
print(evidence)

# Plain arrays are recognized by the marker of the kind.
result = theodolite.audit(
    word_relevance=evidence.word_relevance, marked_words=evidence.marked_words, resamples=100
)
(score,) = result.scores
assert score.metric == "top_word_marked"
assert score.value == 1.0, "on planted evidence the most relevant word is marked"
assert score.n_undefined == (~evidence.marked_words.any(axis=1)).sum()

# The metric may decide "located", but a claim needs a validation record.
verdict = result.verdicts["located"]
print(f"located: {verdict.answer}. {verdict.summary}")
assert verdict.answer == "inconclusive"
assert "top_word_marked has no validation record" in verdict.summary

# Nothing of the kind is lost in shards, in files and in an audit; the metric obeys the laws.
check_kind(PassageEvidence, examples=3)
check_metric("top_word_marked", examples=5)
print("passage evidence and top_word_marked pass every check")
