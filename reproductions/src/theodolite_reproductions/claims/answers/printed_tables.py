"""Answers to entries of Kazmierczak et al. (2024) from the figures that it prints itself."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from theodolite_reproductions.claims.answers import printed_statistics as statistics
from theodolite_reproductions.claims.answers.resampled import UnitResamples, answer_from
from theodolite_reproductions.claims.ledger import ledger
from theodolite_reproductions.claims.results import EntryAnswer, Figure, OptionMove

QUALITIES = ("fidelity", "complexity", "objectivity", "robustness")
"""Columns of Table 12: questions 1, 2 and 3, 4, 5 and 6."""
LIKED = QUALITIES[:3]
"""Where more is better. Questions 5 and 6 ask how much a map changed, and the paper does not say
which end of the scale is which."""
CONCEPTS = ("CLIP-QDA-sample", "CLIP-Linear-sample", "LIME_CBM", "SHAP_CBM", "Xnesyl", "RISE")
NETWORKS = {
    "resnet50": "ResNet50", "vitB": "ViT-B", "CLIP-zero-shot": "CLIP-zero-shot",
    "resnet50-bcos": "ResNet50-BCos",
}  # fmt: skip
"""Names of Table 11 and of Table 12."""
RUNS, PEOPLE = 5, 15
REMOVALS = {"ROAD": "P004-T1-01", "black": "P004-T1-02", "uniform": "P004-T1-03",
            "Gaussian": "P004-T1-04"}  # fmt: skip
NOISES = {"uniform": "P004-T9-01", "Gaussian": "P004-T9-02"}
SPARSENESS = "P004-T10-01"
COEFFICIENTS = {"PCC": "Pearson", "SCC": "Spearman"}
DEFAULTS = {
    "P004-AB-01": "Mode", "P004-AB-02": "Embeddings", "P004-AB-03": "PASTA",
    "P004-AB-04": "Heatmap", "P004-AB-05": "20", "P004-AB-06": "Sentence",
}  # fmt: skip
"""Tables 15 to 20: the variant that the paper uses."""
HARDLY = ("P004-AB-02", "P004-AB-04", "P004-AB-05", "P004-AB-06")
"""Variants that are said hardly to matter."""
Votes = Float[np.ndarray, " qualities"]


def printed_answers() -> tuple[list[EntryAnswer], list[OptionMove]]:
    """What the paper's own tables say of its claims; techniques are resampled where they can be."""
    answers = [
        *_kinds(), *_networks(), *_eigen(), *_variance(), *_favorites(), *_questions(),
        *_concept_means(), *_removal(), *_sensitivity(), *_sparseness(), *_ranks(), *_scorers(),
        *_splits(), *_variants(), *_widths(),
    ]  # fmt: skip
    return answers, [_quality_of_question_2()]


def printed_of(entry: str) -> Mapping[Any, Any]:
    """The figures of an entry, as printed."""
    return ledger().entry(entry).printed or {}


def votes() -> dict[str, Votes]:
    """Table 12: the mean vote of each legible technique, by quality."""
    rows = printed_of("P004-T12-01")["rows"]
    return {name: np.array(row, float) for name, row in rows.items()}


def _maps() -> dict[tuple[str, str], Votes]:
    """Saliency techniques by method and network."""
    return {
        (name.partition(" (")[0], name.partition(" (")[2].rstrip(")")): row
        for name, row in votes().items()
        if not name.startswith(CONCEPTS)
    }


def _concepts() -> dict[str, Votes]:
    return {name: row for name, row in votes().items() if name.startswith(CONCEPTS)}


def _kinds() -> Iterator[EntryAnswer]:
    """Saliency minus concepts."""
    maps, concepts = (np.stack(list(rows.values())) for rows in (_maps(), _concepts()))
    for column, quality in enumerate(QUALITIES):
        more, less = maps[:, column], concepts[:, column]
        draws, resamples = statistics.within_groups(more, less, "techniques")
        ours = {"saliency": float(more.mean()), "concepts": float(less.mean())}
        yield answer_from(
            "P004-F0-01", draws, resamples, len(more) + len(less),
            {"from": "Table 12", "quality": quality}, ours, nearest=column == 0,
        )  # fmt: skip


def _networks() -> Iterator[EntryAnswer]:
    """ResNet50 minus the others, over methods that run on both."""
    maps = _maps()
    methods = [method for method, network in maps if network == "ResNet50"]
    others = {"others": ("ViT-B", "CLIP-zero-shot"), "ViT-B": ("ViT-B",),
              "CLIP": ("CLIP-zero-shot",)}  # fmt: skip
    for column, quality in enumerate(LIKED):
        for label, networks in others.items():
            differences = [
                maps[method, "ResNet50"][column] - np.mean([maps[key][column] for key in same])
                for method in methods
                if (same := [(method, n) for n in networks if (method, n) in maps])
            ]
            n = len(differences)
            resamples = UnitResamples.draw(n, "methods")
            yield answer_from(
                "P004-F0-02", resamples.mean(np.array(differences)), resamples, n,
                {"from": "Table 12", "quality": quality, "minus": label}, {},
                nearest=(column, label) == (0, "others"),
            )  # fmt: skip


def _eigen() -> Iterator[EntryAnswer]:
    """EigenCAM minus the other maps of the same network."""
    maps = _maps()
    own = {network: row for (method, network), row in maps.items() if method == "EigenCAM"}
    others = {
        name: np.mean([row for (method, network), row in maps.items()
                       if network == name and method != "EigenCAM"], axis=0)
        for name in own
    }  # fmt: skip
    for column, quality in enumerate(LIKED):
        values = np.array([own[name][column] - others[name][column] for name in own])
        mean = float(np.mean([row[column] for row in own.values()]))
        yield statistics.student(values, "networks").answer(
            "P004-F0-04", {"from": "Table 12", "quality": quality},
            {"EigenCAM": mean, "other maps": mean - float(values.mean())}, nearest=column == 0,
        )  # fmt: skip


def _variance() -> Iterator[EntryAnswer]:
    """Network within a method against the method, over methods with several networks."""
    maps = _maps()
    methods = dict.fromkeys(method for method, _ in maps)
    groups = [np.stack([row for (name, _), row in maps.items() if name == m]) for m in methods]
    groups = [group for group in groups if len(group) > 1]
    resamples = UnitResamples.draw(len(groups), "methods")
    for column, quality in enumerate(QUALITIES):
        draws = statistics.variance_within_minus_between([group[:, column] for group in groups])
        yield answer_from(
            "P004-F0-05", draws, resamples, len(groups), {"from": "Table 12", "quality": quality},
            {}, nearest=column == 0,
        )  # fmt: skip


def _favorites() -> Iterator[EntryAnswer]:
    """Ranks by mean vote; Fig. 10 counts people's lists, which are not printed."""
    fidelity = sorted(votes(), key=lambda name: -float(votes()[name][0]))
    ranks = {
        f"rank of {name} by mean vote, of {len(fidelity)}": fidelity.index(name) + 1
        for name in fidelity
        if name.startswith(("LIME (", "SHAP ("))
    }
    yield EntryAnswer(entry="P004-F0-03", settings={"from": "Table 12"}, ours=dict(ranks))


def _questions() -> Iterator[EntryAnswer]:
    """Return whether the first three qualities go together more than with the fourth."""
    table = np.stack(list(votes().values())).T
    resamples = UnitResamples.draw(table.shape[1], "techniques")
    pairs = [(a, b) for a in range(4) for b in range(a)]
    r = {pair: resamples.correlation(table[pair[0]], table[pair[1]]) for pair in pairs}
    within = np.mean([draws for pair, draws in r.items() if 3 not in pair], axis=0)
    between = np.mean([draws for pair, draws in r.items() if 3 in pair], axis=0)
    ours = {"r, first three": float(within[0]), "r with robustness": float(between[0])}
    yield answer_from(
        "P004-F0-08", within - between, resamples, table.shape[1],
        {"from": "Table 12", "questions": "by quality"}, ours, nearest=True,
    )  # fmt: skip


def _concept_means() -> Iterator[EntryAnswer]:
    """The means of concepts in B.4 against those of their rows in Table 12."""
    printed = printed_of("P004-T12-02")["concepts"]
    rows = _concepts()
    fewer = {name: row for name, row in rows.items() if name != "CLIP-QDA-sample"}
    for label, chosen in (("all", rows), ("without CLIP-QDA-sample", fewer)):
        means = np.mean(list(chosen.values()), axis=0)
        for column, quality in enumerate(QUALITIES):
            off = float(means[column]) - printed[column]
            yield EntryAnswer(
                entry="P004-T12-02", effect=off, low=off - 2 * statistics.HALF_DIGIT,
                high=off + 2 * statistics.HALF_DIGIT, unit="techniques, weighing alike",
                n=len(chosen), settings={"from": "Table 12", "rows": label, "quality": quality},
                ours={"mean of rows": float(means[column])},
                nearest=(label, column) == ("all", 0),
            )  # fmt: skip


def _cells(entry: str) -> Iterator[tuple[str, str, float, Any]]:
    """Question, coefficient, r and p of a table of correlations."""
    for question, columns in printed_of(entry).items():
        for name, label in COEFFICIENTS.items():
            yield question, label, float(columns[name][0]), columns[name][1]


def _units(*entries: str) -> int:
    cells = [(r, p) for entry in entries for _, _, r, p in _cells(entry)]
    return statistics.units_that_fit(cells)[0]


def _printed_r(
    entry: str, table: str, questions: Sequence[str], n: int, sign: int
) -> Iterator[EntryAnswer]:
    """A table of correlations, cell by cell, with the p-value that its r has."""
    for question, label, r, p in _cells(entry):
        if question not in questions:
            continue
        ours: dict[str, Figure] = {
            "p of this r": statistics.correlation_p(r, n),
            "p as printed": str(p),
        }
        if not statistics.fits(r, p, n):
            ours["r and p"] = "do not fit"
        yield statistics.fisher(sign * r, n, "rated maps").answer(
            entry, {"from": table, "question": question, "coefficient": label}, ours,
            nearest=(question, label) == (questions[0], "Pearson"),
        )  # fmt: skip


def _six(count: int = 6) -> tuple[str, ...]:
    return tuple(f"Q{number}" for number in range(1, count + 1))


def _removal() -> Iterator[EntryAnswer]:
    n = _units(*REMOVALS.values())
    for removal, entry in REMOVALS.items():
        yield from _printed_r(entry, "Table 1", _six(), n, 1)
        for question, label, r, _ in _cells(entry):
            if label == "Pearson":
                cell = {"from": "Table 1", "removal": removal, "question": question}
                yield statistics.fisher(r, n, "rated maps").answer(
                    "P004-F0-06", cell, {}, nearest=(removal, question) == ("ROAD", "Q1")
                )
    yield from _between("P004-F0-06", 0, 1)


def _sensitivity() -> Iterator[EntryAnswer]:
    n = _units(*NOISES.values())
    for noise, entry in NOISES.items():
        yield from _printed_r(entry, "Table 9", _six(4), n, -1)
        for question, label, r, _ in _cells(entry):
            if label == "Pearson" and question in _six(4):
                cell = {"from": "Table 9", "noise": noise, "question": question}
                yield statistics.fisher(-r, n, "rated maps").answer(
                    "P004-F0-07", cell, {}, nearest=(noise, question) == ("uniform", "Q1")
                )
    yield from _between("P004-F0-07", 2, -1)


def _sparseness() -> Iterator[EntryAnswer]:
    yield from _printed_r(SPARSENESS, "Table 10", _six(5), _units(SPARSENESS), -1)
    yield from _between(SPARSENESS, 4, -1)


def _between(entry: str, column: int, sign: int) -> Iterator[EntryAnswer]:
    """Correlation over techniques of a score in Table 11 with votes in Table 12."""
    maps = _maps()
    rows = {}
    for name, row in printed_of("P004-T11-01").items():
        method, _, network = name.partition(" / ")
        rows[method, NETWORKS[network]] = float(row[column])
    both = [key for key in maps if key in rows]
    resamples = UnitResamples.draw(len(both), "techniques")
    score = np.array([rows[key] for key in both])
    for at, quality in enumerate(LIKED):
        r = sign * resamples.correlation(score, np.array([maps[key][at] for key in both]))
        cell = {"from": "Tables 11 and 12", "quality": quality}
        yield answer_from(entry, r, resamples, len(both), cell, {}, nearest=False)


def _ranks() -> Iterator[EntryAnswer]:
    """Tables 13 and 14; means are multiples of 1/30, so answers may be 30 from 15 people."""
    qualities = printed_of("P004-T13-01")
    for people in (PEOPLE, 2 * PEOPLE):
        yield statistics.rank_difference(qualities, "Objectivity", "Trustworthy", people).answer(
            "P004-F0-11", {"from": "Table 13", "answers": people}, {}, nearest=people == PEOPLE
        )
    total = sum(statistics.mean_and_spread(cell)[0] for cell in qualities.values())
    yield EntryAnswer(entry="P004-T13-01", ours={"sum of mean ranks, to be 15": total})
    table = printed_of("P004-T14-01")
    means = {question: [statistics.mean_and_spread(cell)[0] for cell in cells]
             for question, cells in table.items()}  # fmt: skip
    sums = {f"sum of mean ranks, to be 21, {name}": sum(row) for name, row in means.items()}
    yield EntryAnswer(entry="P004-T14-01", ours=dict(sums))
    r = float(np.corrcoef(means["Q8"], means["Q9"])[0, 1])
    yield statistics.fisher(r, len(means["Q8"]), "questions").answer(
        "P004-F0-12", {"from": "Table 14"}, {"r": r}, nearest=True
    )


def _scorers() -> Iterator[EntryAnswer]:
    """Table 3: a person, the scorer on CLIP or LLaVa, handcrafted features."""
    rows = printed_of("P004-T3-02")
    clip, llava, features, person = (rows[name] for name in (
        "PASTA  CLIP", "PASTA  LLaVa", "Feature Extraction", "Human"))  # fmt: skip
    pairs = {
        ("P004-F0-13", "person minus scorer"): (person, clip),
        ("P004-F0-13", "scorer minus features"): (clip, features),
        ("P004-AB-07", "CLIP minus LLaVa"): (clip, llava),
    }
    for (entry, label), (more, less) in pairs.items():
        for at, question in enumerate(_six()):
            cell = {"from": "Table 3", "question": question, "difference": label}
            yield statistics.welch(more[at], less[at], RUNS).answer(
                entry, cell, {}, nearest=at == 0 and label != "scorer minus features"
            )


def _splits() -> Iterator[EntryAnswer]:
    kappa = {name: row[1] for name, row in printed_of("P004-T4-01").items()}
    for more, less in (("none", "image"), ("none", "technique"), ("technique", "image")):
        yield statistics.welch(kappa[more], kappa[less], RUNS).answer(
            "P004-F0-14", {"from": "Table 4", "difference": f"{more} minus {less}"}, {},
            nearest=(more, less) == ("none", "image"),
        )  # fmt: skip


def _variants() -> Iterator[EntryAnswer]:
    """Tables 15 to 20: kappa of the paper's choice minus that of each other."""
    first = True
    for entry, default in DEFAULTS.items():
        rows = {name: row for name, row in printed_of(entry).items() if isinstance(row, list)}
        others = [name for name in rows if name != default]
        for name in others:
            effect = statistics.welch(rows[default][1], rows[name][1], RUNS)
            cell = {"from": ledger().entry(entry).where, "difference": f"{default} minus {name}"}
            yield effect.answer(entry, cell, {}, nearest=name == others[0])
            if entry in HARDLY:
                yield effect.answer("P004-F0-15", cell, {}, nearest=first)
                first = False


def _widths() -> Iterator[EntryAnswer]:
    """Table 23 prints no spread, so it decides nothing."""
    table = printed_of("P004-AB-08")
    best = max(table, key=lambda width: float(table[width]))
    ours = {"best width of the table": float(best), "width that the text names": 0.15}
    yield EntryAnswer(entry="P004-AB-08", settings={"from": "Table 23"}, ours=dict(ours))


def _quality_of_question_2() -> OptionMove:
    """Sparseness against complexity: questions 2 and 3 by the list, 3 alone by the wording."""
    n = _units(SPARSENESS)
    r = {q: -value for q, label, value, _ in _cells(SPARSENESS) if label == "Pearson"}
    # half of the difference of two correlations over the same maps; as if they were independent,
    # which is too wide where the questions go together
    error = 0.5 * math.hypot(*(statistics.fisher(r[q], n, "").error for q in ("Q2", "Q3")))
    value = r["Q3"] - (r["Q2"] + r["Q3"]) / 2
    return OptionMove(
        option="P004-O-03", entry=SPARSENESS, before="list (2 and 3)", after="text (3 alone)",
        value=value, low=value - 1.96 * error, high=value + 1.96 * error,
    )  # fmt: skip
