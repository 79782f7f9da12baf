"""Answers to entries of Kumar et al. (2026) from runs that explain classifiers."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.stats import binomtest

from theodolite._stats.intervals import quantile, two_sided_p
from theodolite_reproductions.claims.answers.resampled import (
    LEVEL,
    Draws,
    answer_from,
    compute_percentile_ends,
)
from theodolite_reproductions.claims.answers.surrogate_tables import StoredExplanations
from theodolite_reproductions.claims.power import detectable_effect
from theodolite_reproductions.claims.results import EntryAnswer, Figure, OptionMove

DISTANCE, AGREEMENT, ERROR, RANKS = (
    "surrogate_distance", "surrogate_agreement", "surrogate_error", "surrogate_rank_correlation",
)  # fmt: skip
BENCHMARK = {
    "CDISCO": "svd", "ICE": "nmf", "CRAFT": "craft", "ConceptSHAP": "concept_shap",
    "MCD": "mcd_lasso", "HU-MCD": "hu_mcd_slic", "SAE": "sae_places",
}  # fmt: skip
"""The methods of the paper, each in the form nearest to its own paper."""
OTHERWISE = {"sae_places": "sae"}
"""What stands in where a run has no features of places."""
FEW, MANY = 5, 20
NUMBERS = (1, 2, FEW, 10, MANY)
CURVES = {"MCD, lasso": "mcd_lasso", "MCD, matching pursuit": "mcd",
          "MCD, matching pursuit, not centered": "mcd_uncentered"}  # fmt: skip
STAGNANT = ("CDISCO", "CRAFT", "ConceptSHAP", "ICE")
MIDDLE = ("layer1", "layer2")
PERFECT, IMPORTANCES, CONCEPTS = (
    "setting-perfect", "setting-random-importances", "setting-random-concepts",
)  # fmt: skip
HIGH, FAR, CHANCE = 0.9, 0.2, 0.4
"""Agreement that looks faithful, a distance that is not, and one that is nearly chance."""


@dataclass(frozen=True, eq=False)
class ClassifierRun:
    """A run, and whether it is the one nearest to the paper."""

    stored: StoredExplanations
    data: str
    nearest: bool

    @property
    def methods(self) -> dict[str, str]:
        """The benchmark's methods by the names of this run; those that it has."""
        known = {name.removesuffix(f"-{FEW}") for name in self.stored.names}
        forms = {
            label: form if form in known else OTHERWISE.get(form, form)
            for label, form in BENCHMARK.items()
        }
        return {label: form for label, form in forms.items() if form in known}

    @property
    def numbers(self) -> list[int]:
        """Numbers of concepts that MCD was run with."""
        return [n for n in NUMBERS if f"{self.methods['MCD']}-{n}" in self.stored.names]

    def draws(self, form: str, metric: str = DISTANCE, n: int = FEW, **options: Any) -> Draws:
        """A score of a method, resampled."""
        return self.stored.mean(f"{form}-{n}", metric, **options)

    def answer(
        self, entry: str, draws: Draws, ours: Mapping[str, Figure], first: bool = True,  # noqa: FBT001, FBT002
        **cell: Any,
    ) -> EntryAnswer:  # fmt: skip
        """An answer of images and seeds."""
        return answer_from(
            entry, draws, self.stored.resamples.images, self.stored.n,
            {"data": self.data, **cell}, ours, nearest=first and self.nearest,
        )  # fmt: skip


Answers = tuple[list[EntryAnswer], list[OptionMove]]


def surrogate_answers(folder: Path, *, data: str, nearest: bool, clustered: bool) -> Answers:
    """What a run says of Kumar et al. (2026)."""
    run = ClassifierRun(StoredExplanations.of(folder, clustered=clustered), data, nearest)
    answers = [
        *_sanity(run), *_unfaithful(run), *_far_off(run), *_best(run), *_more_concepts(run),
        *_middle(run), *_figures(run),
    ]  # fmt: skip
    return answers, list(_moves(run))


species_answers = partial(surrogate_answers, data="CUB, 25 species", nearest=True, clustered=True)
"""Nearer to the paper: 1,280 dimensions and 25 classes, against its 2,048 and 101."""
cifar_answers = partial(surrogate_answers, data="CIFAR-10", nearest=False, clustered=False)


def decoder_answers(folder: Path) -> Answers:
    """What a run of ConceptSHAP alone says, with its decoder learned once and anew."""
    run = ClassifierRun(StoredExplanations.of(folder), "CIFAR-10", nearest=False)
    forms = ("concept_shap", "concept_shap_relearned")
    answers = [
        EntryAnswer(
            entry="P002-T2-04", settings={"data": run.data, "form": form}, n=run.stored.n,
            unit=run.stored.resamples.images.unit,
            ours={"SURF_EMD": float(run.draws(form)[0]),
                  "Top1": float(run.draws(form, AGREEMENT)[0])},
        )
        for form in forms
    ]  # fmt: skip
    ends = {f"{run.data}: {form}": run.draws(form) for form in forms}
    return answers, [_move("P002-O-03", "P002-T2-04", ends)]


def seeds_answer(
    entry: str, values: Float[np.ndarray, " seeds"], cell: Mapping[str, Any],
    ours: Mapping[str, Figure], *, nearest: bool,
) -> EntryAnswer:  # fmt: skip
    """Student's interval over seeds; where no seed differs, it has no width."""
    n, value = len(values), float(values.mean())
    error = float(values.std(ddof=1)) / math.sqrt(n)
    half = quantile(n - 1, LEVEL) * error
    p = two_sided_p(value, error, n - 1) if error > 0 else float(abs(value) <= 1e-12)
    return EntryAnswer(
        entry=entry, settings=dict(cell), nearest=nearest, effect=value, low=value - half,
        high=value + half, p=p, unit="seeds", n=n, min_detectable_effect=detectable_effect(error),
        ours=dict(ours),
    )  # fmt: skip


def _sanity(run: ClassifierRun) -> Iterator[EntryAnswer]:
    """Three explanations of known quality, over the seeds of the check."""
    for name, metric in (("distance", DISTANCE), ("error", ERROR)):
        values = [
            np.resize(own, 2) if len(own := run.stored.per_seed(s, metric, surrogate="linear")) < 2
            else own
            for s in (PERFECT, IMPORTANCES, CONCEPTS)
        ]  # fmt: skip
        perfect, importances, concepts = (np.resize(v, max(map(len, values))) for v in values)
        means = [float(v.mean()) for v in (perfect, importances, concepts)]
        ours = dict(zip(("perfect", "random_importances", "all random"), means, strict=True))
        steps = {"importances to all random": concepts - importances,
                 "perfect to importances": importances - perfect}  # fmt: skip
        for step, difference in steps.items():
            yield seeds_answer(
                "P002-F0-01", difference, {"data": run.data, "score": name, "step": step}, ours,
                nearest=run.nearest and (name, step) == ("distance", next(iter(steps))),
            )  # fmt: skip
    for entry, surrogate, less in (
        ("P002-F0-02", "rebuilt", IMPORTANCES), ("P002-F0-03", "learned", IMPORTANCES),
        ("P002-F0-04", "learned", CONCEPTS),
    ):  # fmt: skip
        first, second = (
            run.stored.per_seed(s, AGREEMENT, surrogate=surrogate) for s in (PERFECT, less)
        )
        n = max(len(first), len(second))
        difference = np.resize(first, n) - np.resize(second, n)
        ours = {
            "perfect": float(first.mean()),
            less.removeprefix("setting-").replace("-", " "): float(second.mean()),
        }
        yield seeds_answer(
            entry, -difference if less == CONCEPTS else difference, {"data": run.data}, ours,
            nearest=run.nearest,
        )  # fmt: skip


def _lowest(rows: Mapping[str, Draws]) -> tuple[str, Draws]:
    """The method with the lowest mean, and the lowest of each resample."""
    name = min(rows, key=lambda label: float(rows[label][0]))
    return name, np.min(np.stack(list(rows.values())), axis=0)


def _forms(run: ClassifierRun, label: str) -> list[str]:
    """The forms of a method that the run has, the nearest to its paper first."""
    first = run.methods[label]
    known = {name.removesuffix(f"-{FEW}") for name in run.stored.names}
    families = {
        "MCD": ("mcd_lasso", "mcd_lasso_uncentered", "mcd", "mcd_uncentered"),
        "SAE": ("sae_places", "sae"),
        "CDISCO": ("svd", "cdisco"),
        "HU-MCD": ("hu_mcd_slic", "hu_mcd_grid"),
        "ConceptSHAP": ("concept_shap", "concept_shap_relearned"),
    }
    family = [form for form in families.get(label, ()) if form in known]
    return list(dict.fromkeys([first, *family]))


def _with(run: ClassifierRun, **forms: str) -> dict[str, Draws]:
    """Distances of the benchmark's methods, some in other forms."""
    return {label: run.draws(form) for label, form in (run.methods | forms).items()}


def _unfaithful(run: ClassifierRun) -> Iterator[EntryAnswer]:
    for form in _forms(run, "MCD"):
        name, lowest = _lowest(_with(run, MCD=form))
        yield run.answer(
            "P002-F0-05", lowest - 0.1, {"best": float(lowest[0]), "method": name},
            form == run.methods["MCD"], MCD=form,
        )  # fmt: skip


def _best(run: ClassifierRun) -> Iterator[EntryAnswer]:
    for mcd in _forms(run, "MCD"):
        for sae in _forms(run, "SAE"):
            rows = _with(run, MCD=mcd, SAE=sae)
            own = rows.pop("SAE")
            name, lowest = _lowest(rows)
            ours: dict[str, Figure] = {
                "SAE": float(own[0]), "best other": float(lowest[0]), "which": name,
            }  # fmt: skip
            first = (mcd, sae) == (run.methods["MCD"], run.methods["SAE"])
            yield run.answer("P002-F0-08", lowest - own, ours, first, MCD=mcd, SAE=sae)


def _far_off(run: ClassifierRun) -> Iterator[EntryAnswer]:
    """Shares of methods, with exact intervals: bootstraps of none or all have no width."""
    distance, agreement = (
        {label: float(run.draws(form, metric)[0]) for label, form in run.methods.items()}
        for metric in (DISTANCE, AGREEMENT)
    )
    far = [label for label in distance if distance[label] >= CHANCE]
    hidden = [n for n in distance if agreement[n] >= HIGH and distance[n] >= FAR]
    for entry, chosen, line in (("P002-F0-06", far, 0.5), ("P002-F0-07", hidden, 0.0)):
        ours: dict[str, Figure] = {"methods": ", ".join(chosen) or "none"}
        if entry == "P002-F0-07":
            ours |= {f"{n}, agreement": agreement[n] for n in ("ICE", "MCD")}
            ours |= {f"{n}, distance": distance[n] for n in ("ICE", "MCD")}
        yield _share(entry, len(chosen), len(distance), line, run, ours)


def _share(
    entry: str, k: int, n: int, line: float, run: ClassifierRun, ours: Mapping[str, Figure]
) -> EntryAnswer:
    test = binomtest(k, n, max(line, 1e-9))
    ends = test.proportion_ci(LEVEL, method="exact")
    share = k / n
    error = math.sqrt(max(share * (1 - share), 0.25 / n) / n)
    return EntryAnswer(
        entry=entry, settings={"data": run.data}, nearest=run.nearest, effect=share - line,
        low=float(ends.low) - line, high=float(ends.high) - line, p=float(test.pvalue),
        unit="methods", n=n, min_detectable_effect=detectable_effect(error), ours=dict(ours),
    )  # fmt: skip


def _more_concepts(run: ClassifierRun) -> Iterator[EntryAnswer]:
    """Twenty concepts minus five, of those said not to gain; the slope of MCD."""
    changes = {
        label: run.draws(run.methods[label], n=MANY) - run.draws(run.methods[label])
        for label in STAGNANT
    }
    # that none of the four gains is claimed, so the one that gains most decides
    worst = min(changes, key=lambda label: float(changes[label][0]))
    for label, change in changes.items():
        few = float(run.draws(run.methods[label])[0])
        ours = {"5 concepts": few, "20 concepts": few + float(change[0])}
        yield run.answer("P002-F0-09", change, ours, label == worst, method=label)
    for label, form in CURVES.items():
        rows = [run.draws(form, n=n) for n in run.numbers]
        ours = {f"{n} concepts": float(row[0]) for n, row in zip(run.numbers, rows, strict=True)}
        fall = -slope_over_logs(rows, run.numbers)
        yield run.answer("P002-F0-10", fall, ours, form == run.methods["MCD"], MCD=label)


def slope_over_logs(rows: Sequence[Draws], at: Sequence[int]) -> Draws:
    """Least-squares change from the first to the last, against logarithms."""
    x = np.log(np.asarray(at, float))
    x -= x.mean()
    slope = np.einsum("s,sr->r", x / (x**2).sum(), np.stack(rows))
    return np.asarray(slope * (x[-1] - x[0]))


def _middle(run: ClassifierRun) -> Iterator[EntryAnswer]:
    """What the slope misses of the error at layers in the middle, over images."""
    chosen = [name for name in run.stored.names if name.split("-")[0] in MIDDLE]
    if not chosen:
        return
    resamples, shares = run.stored.resampled(chosen[0]), {}
    for name in chosen:
        missed = resamples.mean(run.stored.each(name, "linearization_error"))
        measured = resamples.mean(run.stored.each(name, ERROR, surrogate="linearized"))
        shares[name] = missed / measured
    n = len(run.stored.evidence(chosen[0])[0])
    both = np.mean(np.stack(list(shares.values())), axis=0)
    for name, share in {"mean of all": both, **shares}.items():
        yield answer_from(
            "P002-F0-13", share, resamples.images, n,
            {"data": run.data, "layer and method": name}, {"share missed": float(share[0])},
            nearest=name == "mean of all",
        )  # fmt: skip


def _figures(run: ClassifierRun) -> Iterator[EntryAnswer]:
    """Our figures beside those of Table 2, with no verdict."""
    for label, form in run.methods.items():
        number = list(BENCHMARK).index(label) + 1
        names = {"SURF_MAE": ERROR, "SURF_EMD": DISTANCE, "Top1": AGREEMENT, "rank_corr": RANKS}
        ours = {key: float(run.draws(form, metric)[0]) for key, metric in names.items()}
        yield EntryAnswer(
            entry=f"P002-T2-0{number}", settings={"data": run.data, "form": form}, ours=ours,
            n=run.stored.n, unit=run.stored.resamples.images.unit,
        )  # fmt: skip


def _moves(run: ClassifierRun) -> Iterator[OptionMove]:
    """What other forms of a method do to its distance and to the findings that hang on it."""
    options = {"CDISCO": 1, "ConceptSHAP": 3, "MCD": 4, "HU-MCD": 5, "SAE": 6}
    for label, option in options.items():
        if label not in run.methods:
            continue
        first, *others = _forms(run, label)
        entry = f"P002-T2-0{list(BENCHMARK).index(label) + 1}"
        for form in others:
            ends = {f"{run.data}: {name}": run.draws(name) for name in (first, form)}
            yield _move(f"P002-O-0{option}", entry, ends)
            if label in ("MCD", "SAE"):
                yield from _moved_findings(run, f"P002-O-0{option}", label, form)
    forms = list(run.methods.values())
    added, without = (
        _lowest({form: run.draws(form, bias=bias) for form in forms})[1] for bias in (True, False)
    )
    ends = {f"{run.data}: bias added": added, f"{run.data}: bias left out": without}
    yield _move("P002-O-07", "P002-F0-05", ends)


def _moved_findings(run: ClassifierRun, option: str, label: str, form: str) -> Iterator[OptionMove]:
    first = run.methods[label]
    names = [f"{run.data}: {name}" for name in (first, form)]
    tables = [_with(run), _with(run, **{label: form})]
    if label == "MCD":
        lowest = [_lowest(table)[1] for table in tables]
        yield _move(option, "P002-F0-05", dict(zip(names, lowest, strict=True)))
        if form in CURVES.values():
            falls = [
                -slope_over_logs([run.draws(name, n=n) for n in run.numbers], run.numbers)
                for name in (first, form)
            ]
            yield _move(option, "P002-F0-10", dict(zip(names, falls, strict=True)))
    own = [table.pop("SAE") for table in tables]
    gaps = [_lowest(table)[1] - sae for table, sae in zip(tables, own, strict=True)]
    yield _move(option, "P002-F0-08", dict(zip(names, gaps, strict=True)))


def _move(option: str, entry: str, ends: Mapping[str, Draws]) -> OptionMove:
    (before, first), (after, last) = ends.items()
    change = last - first
    low, high = compute_percentile_ends(change)
    return OptionMove(
        option=option, entry=entry, before=before, after=after, value=float(change[0]), low=low,
        high=high,
    )  # fmt: skip
