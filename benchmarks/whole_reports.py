"""How often a report of six worthless or faultless answers makes a claim that is not true.

    python benchmarks/whole_reports.py [--draws 200] [--clusters 60 300]

Each draw plants nothing (dial 0) for all six questions, scores each by its deciding score and reads
the verdicts of one report. A false claim is "yes" or "partly" of a score that must beat its nulls,
"partly" or "no" of one that looks for a fault. Per line: reports with a false claim, with Holm's
correction and without, and questions that were answered at all. The share with it comes last.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace

from theodolite._planted.validation.subjects import MetricSubject
from theodolite._scoring.request import Resampling
from theodolite._verdicts.from_scores import verdicts
from theodolite._verdicts.rules import verdict
from theodolite.results import Score, Verdict

SCORES = (
    "concept_existence", "relevance_mass", "joint_task_leakage", "surrogate_distance",
    "detection_accuracy", "acceptance",
)  # fmt: skip
RESAMPLING = Resampling(resamples=150, most_null_draws=5)


def scores_of(clusters: int, seed: int, rows: int) -> list[Score]:
    """Return scores of nothing for each question."""
    scores: list[Score] = []
    for name in SCORES:
        subject = MetricSubject(name)
        condition = replace(
            subject.generator.usual, clusters=clusters, rows=rows, within=0.33 * (rows > 1)
        )
        scores += subject.scores(subject.draw(condition, seed), RESAMPLING)
    return scores


def false_claims(answers: Sequence[Verdict]) -> list[str]:
    """Questions that say more than is there."""
    bad: list[str] = []
    for answer in answers:
        wrong = ("no", "partly") if answer.question == "leak_free" else ("yes", "partly")
        if answer.score is not None and answer.answer in wrong:
            bad.append(answer.question)
    return bad


def main() -> None:
    """Print a line for each number of clusters."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--clusters", type=int, nargs="+", default=[60, 300])
    options = parser.parse_args()
    with_holm = without = total = 0
    for clusters in options.clusters:
        for rows in (1, 5):
            corrected = alone = answered = 0
            for seed in range(options.draws):
                scores = scores_of(clusters, seed, rows)
                report = verdicts(scores)
                corrected += bool(false_claims(report))
                alone += bool(false_claims([verdict(score) for score in scores]))
                answered += sum(v.answer in ("yes", "no", "partly") for v in report)
            with_holm, without, total = (
                with_holm + corrected,
                without + alone,
                total + options.draws,
            )
            print(
                f"{clusters} clusters of {rows}: false claims in {corrected} of {options.draws} "
                f"reports, uncorrected {alone}; {answered / options.draws:.1f} of 6 answered",
                flush=True,
            )
    print(f"uncorrected {without / total:.3f}, corrected {with_holm / total:.3f}")


if __name__ == "__main__":
    main()
