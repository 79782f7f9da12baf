"""Try to obtain "yes" for a bad explanation: do concepts and importances add up to the output?

Each function is a row of ``docs/adversary.md``: a bad explanation, and what the audit says of it.
"""

from math import comb
from types import SimpleNamespace

import numpy as np
from sklearn.ensemble import RandomForestRegressor

import theodolite


def check(result, answer, disclosed=""):
    """Assert the answer, and that the card of the score that decides names the limitation."""
    verdict = result.verdicts["faithful"]
    assert verdict.answer == answer, f"{verdict.answer}: {verdict.summary}"
    assert verdict.score is None or disclosed in verdict.score.describe(), verdict.score.describe()


def outputs_by_other_names():
    """Call the outputs themselves concepts."""
    random = np.random.default_rng(0)
    outputs = 3 * random.normal(size=(400, 5))
    result = theodolite.audit(outputs=outputs, projections=outputs, importances=np.eye(5))
    check(result, "yes", "concepts that are the outputs under other names")


def one_concept_for_each_sample():
    """Learn every output by heart."""
    random = np.random.default_rng(0)
    outputs = 3 * random.normal(size=(200, 5))
    result = theodolite.audit(outputs=outputs, projections=np.eye(200), importances=outputs)
    check(result, "yes", "one concept for each sample")


def one_class_is_wrong():
    """Explain 19 classes well, and the class that matters not at all."""
    random = np.random.default_rng(0)
    outputs = 8 * np.eye(20)[random.integers(0, 20, 400)] + random.normal(size=(400, 20))
    concepts = outputs.copy()
    concepts[:, 3] = random.permutation(outputs[:, 3])
    result = theodolite.audit(outputs=outputs, projections=concepts, importances=np.eye(20))
    check(result, "yes", "one class of twenty")


def undecided_network():
    """Explain a network that gives every class the same probability, at random."""
    random = np.random.default_rng(0)
    result = theodolite.audit(
        outputs=0.01 * random.normal(size=(400, 5)), projections=random.random((400, 8)),
        importances=0.01 * random.normal(size=(8, 5)),
    )  # fmt: skip
    check(result, "inconclusive")


def an_intercept():
    """Answer the mean of the outputs by a concept that is always present."""
    random = np.random.default_rng(0)
    outputs = 3 * random.normal(size=(400, 5)) + np.arange(5)
    result = theodolite.audit(
        outputs=outputs, projections=np.ones((400, 1)), importances=outputs.mean(axis=0)[None]
    )
    check(result, "inconclusive")


def outputs_of_a_probe():
    """Compare the explanation with a linear probe instead of the network."""
    random = np.random.default_rng(0)
    evidence = theodolite.SurrogateEvidence(
        outputs=random.normal(size=(100, 3)) @ np.diag([3, 4, 5]),
        projections=random.random((100, 4)), importances=random.normal(size=(4, 3)),
    )  # fmt: skip
    said = theodolite.Subject("4 concepts", "a network", "probe_only", "a linear probe")
    check(theodolite.audit(evidence, subject=said), "not_evaluated")
    unsaid = theodolite.audit(evidence).subject.reference  # first page of the report
    assert unsaid == "The reference is the outputs you gave."


def gate(rows):
    """The audited function: the third feature says which of the first two counts."""
    return 5 * np.where(rows[:, 2] > 0, rows[:, 0], rows[:, 1])


def shapley_values(function, rows, background):
    """Exact attributions of a function of few features, from all subsets."""
    d = rows.shape[1]
    present = (np.arange(2**d)[:, None] >> np.arange(d) & 1).astype(bool)
    answers = np.stack([
        function(np.where(present[:, None], row, background).reshape(-1, d))
        .reshape(len(present), -1).mean(axis=1)
        for row in rows
    ])  # fmt: skip
    size, values = present.sum(axis=1), np.zeros(rows.shape)
    for j in range(d):
        without = np.flatnonzero(~present[:, j])
        weights = [1 / (d * comb(d - 1, s)) for s in size[without]]
        values[:, j] = (answers[:, without | 1 << j] - answers[:, without]) @ weights
    return values


def table(seed, n=300, d=6):
    """Rows of normal features."""
    return np.random.default_rng(seed).normal(size=(n, d))


def attributions(values, rows, model=gate, **more):
    """Audit attributions to the features of a table."""
    return theodolite.audit_attributions(
        values, rows, model=model, background=table(9, 60, rows.shape[1]), progress=None, **more
    )


def reversed_signs():
    """Say "against" wherever a feature speaks for the answer."""
    rows = table(0)
    right = shapley_values(gate, rows, table(9, 60))
    check(attributions(right, rows), "yes")
    check(attributions(-right, rows), "no")


def nothing_named():
    """Write how unusual the output is into every feature; copy it with random factors."""
    rows = table(0)
    away = (gate(rows) - gate(table(9, 60)).mean())[:, None]
    check(attributions(away * np.ones(rows.shape), rows), "no")
    check(attributions(away * np.random.default_rng(1).random(rows.shape), rows), "no")


def labels_copied():
    """Copy the sign of the output into every feature; share it out by a list for all rows."""
    rows = table(0)
    label = np.where(gate(rows) > 0, 1.0, -1.0)[:, None]
    size = np.abs(shapley_values(gate, rows, table(9, 60))).mean(axis=0)
    check(attributions(label * np.ones(rows.shape), rows), "no")
    check(attributions(label * size, rows), "partly")


def one_list_for_all_rows():
    """Give every row the mean size of the right attributions."""
    rows = table(0)
    size = np.abs(shapley_values(gate, rows, table(9, 60))).mean(axis=0)
    result = attributions(np.tile(size, (len(rows), 1)), rows)
    check(result, "partly")
    assert "One global ranking for all rows" in result.verdicts["faithful"].summary


def list_times_minus_one():
    """Give a right list with the opposite sign."""
    rows = table(0)
    size = np.abs(shapley_values(gate, rows, table(9, 60))).mean(axis=0)
    check(attributions(size, rows), "yes")
    check(attributions(-size, rows), "no")
    check(attributions(-np.tile(size, (len(rows), 1)), rows), "no")


def attributions_of_a_similar_model():
    """Explain a forest that was fitted to the same data."""
    rows, train = table(0), table(5, 1500)
    forest = RandomForestRegressor(60, min_samples_leaf=5, random_state=0).fit(train, gate(train))
    other = shapley_values(forest.predict, rows[:100], table(9, 20))
    result = attributions(other, rows[:100])
    check(result, "yes", "those of a similar model pass")
    # its base values miss the output, but by less than 5 % of the spread
    base = float(forest.predict(table(9, 20)).mean())
    explanation = SimpleNamespace(
        values=other, base_values=base, data=rows[:100], feature_names=None, output_names=None
    )
    with_base = attributions(explanation, rows[:100])
    check(with_base, "yes")
    assert 0.01 < with_base["additivity_gap"].value < 0.05


def correlations_without_a_model():
    """Multiply each standardized feature by its correlation with the label; ask no model."""

    def linear(rows):
        return rows @ np.array([2, -1.5, 1, -0.8, 0.5, 0.3])

    rows = table(0)
    label = linear(rows) + np.random.default_rng(3).normal(size=300)
    correlation = [np.corrcoef(column, label)[0, 1] for column in rows.T]
    check(attributions(rows * correlation, rows, linear), "yes")  # there it is right
    label = gate(rows) + np.random.default_rng(3).normal(size=300)
    correlation = [np.corrcoef(column, label)[0, 1] for column in rows.T]
    check(attributions(rows * correlation, rows), "partly")


def model_that_hides_a_feature():
    """Decide by age; decide by harmless features for rows that no data set has."""

    def model(rows):
        age, height, weight, region = rows.T
        real = (age == height) & (age == weight)
        return 5 * np.where(real, age, np.where(region > 0, height, weight))

    def people(n, seed):
        age, region = np.random.default_rng(seed).choice([-1.0, 1.0], (2, n))
        return np.stack([age, age, age, region], axis=1)

    rows = people(300, seed=0)
    harmless = np.zeros(rows.shape)
    harmless[np.arange(300), np.where(rows[:, 3] > 0, 1, 2)] = model(rows)
    honest = np.zeros(rows.shape)
    honest[:, 0] = model(rows)
    options = {"model": model, "background": people(60, seed=1), "progress": None}
    result = theodolite.audit_attributions(harmless, rows, **options)
    check(result, "yes", "the model may answer them at its whim")
    check(theodolite.audit_attributions(honest, rows, **options), "no")


PERCENTS = np.array([1.0, 3, 5, 10, 15, 20, 30, 40, 50])


def removal(most_first, chance_most_first, removals):
    """Audit maps by probabilities after pixels were removed; the least relevant change nothing."""
    ways = len(removals)
    return theodolite.audit(
        maps=np.random.default_rng(0).random((100, 8, 8)), clean=np.full(100, 0.9),
        percents=PERCENTS, removals=removals, chances=["random", "smooth", "center"],
        most_first=np.tile(most_first, (100, 1, 1)),
        least_first=np.full((100, ways, 9), 0.9),
        chance_most_first=np.tile(chance_most_first, (100, 3, 1, 1)),
        chance_least_first=np.full((100, 3, ways, 9), 0.9),
    )  # fmt: skip


FALLS, STAYS = 0.9 * np.exp(-PERCENTS / 5), 0.9 * np.exp(-PERCENTS / 200)


def removal_unlike_any_image():
    """Find a map whose black pixels confuse the network, and name that way of removal first."""
    black_first = removal([FALLS, STAYS], [STAYS, STAYS], ["black", "road"])
    check(black_first, "yes", "unlike any that the network knows")
    check(removal([STAYS, FALLS], [STAYS, STAYS], ["road", "black"]), "inconclusive")


def baselines_of_ones_own():
    """Bring numbers for the random maps that no random map has."""
    check(removal([FALLS], [FALLS], ["road"]), "inconclusive")
    check(removal([FALLS], [STAYS], ["road"]), "yes", "as they are given")


def effects_of_another_size():
    """Predict one hundredth of what every edit does."""
    random = np.random.default_rng(0)
    before, after = random.dirichlet(np.ones(3), 100), random.dirichlet(np.ones(3), 100)
    result = theodolite.audit(
        edited=random.integers(0, 4, 100), direction=random.choice([-1, 1], 100),
        output_before=before, output_after=after,
        surrogate_before=before, surrogate_after=before + 0.01 * (after - before),
    )  # fmt: skip
    check(result, "yes", "does not see how large a change is")


def dictionary_that_passes_all_through():
    """Let every latent be active, so that nothing is lost and nothing is explained."""
    random = np.random.default_rng(0)
    tokens = random.integers(0, 50, (60, 20))
    result = theodolite.audit(
        tokens=tokens.tolist(), divergence_spliced=(0.01 * random.random(tokens.shape)).tolist(),
        divergence_ablated=(1 + random.random(tokens.shape)).tolist(),
        chance_divergence_spliced=(2 + random.random((*tokens.shape, 20))).tolist(),
    )  # fmt: skip
    check(result, "yes", "How many latents are active")


def ablations_of_large_claims():
    """Claim the right order for the two largest latents of each token, and ablate only these."""
    random = np.random.default_rng(0)
    shape = (60, 5, 6)  # texts, tokens, active latents
    real = random.permuted(np.tile(np.arange(1.0, 7), (60, 5, 1)), axis=2)
    claimed = random.random(shape)
    claimed[real > 4] = real[real > 4]
    tried = np.where(claimed > 4, real, np.nan)
    tokens = {
        "tokens": random.integers(0, 50, shape[:2]).tolist(),
        "latent": np.broadcast_to(np.arange(6), shape).tolist(),
        "value": np.ones(shape).tolist(),
        "importance": claimed.tolist(),
    }
    check(theodolite.audit(**tokens, effect=tried.tolist()), "yes", "say nothing of small ones")
    check(theodolite.audit(**tokens, effect=real.tolist()), "partly")


for row in (
    outputs_by_other_names, one_concept_for_each_sample, one_class_is_wrong, undecided_network,
    an_intercept, outputs_of_a_probe, reversed_signs, nothing_named, labels_copied,
    one_list_for_all_rows, list_times_minus_one, attributions_of_a_similar_model,
    correlations_without_a_model, model_that_hides_a_feature,
    removal_unlike_any_image, baselines_of_ones_own, effects_of_another_size,
    dictionary_that_passes_all_through, ablations_of_large_claims,
):  # fmt: skip
    row()
