"""Four images of a saliency audit: chosen by fit, with the map and the strongest pixels."""

import re
from pathlib import Path

import numpy as np
import pytest

import theodolite
from theodolite._planted.saliency import planted_saliency
from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.metrics import relevance_top
from theodolite.metrics.faithful.map_fit import fit_patches
from theodolite.report.chapters.map_images import choose_extremes, score_images


def small_evidence(n: int = 20) -> SaliencyEvidence:
    """Maps with noise that rises from image to image; patches whose fall is the true map."""
    random = np.random.default_rng(0)
    objects = np.zeros((n, 16, 16), bool)
    objects[:, 4:12, 2:8] = True
    noise = random.normal(size=objects.shape) * np.linspace(0.01, 3, n)[:, None, None]
    removed = random.random((n, 24, 4, 4)).argsort(axis=-1) < 2
    drop = np.stack([(removed[i] * objects[i, ::4, ::4]).sum((1, 2)) for i in range(n)])
    return SaliencyEvidence(
        maps=objects + noise,
        objects=objects,
        removed=removed,
        drop=drop[:, None].astype(float),
        best_fit=np.ones((n, 1)),
    )


def test_best_and_worst_images_are_shown(tmp_path: Path) -> None:
    evidence = small_evidence()
    images = np.random.default_rng(1).random((len(evidence), 16, 16, 3))
    result = theodolite.audit(evidence, images=images, resamples=20)
    page = result.report(tmp_path / "report.html").read_text()
    above = page.partition('<section id="appendix">')[0]
    cards = re.findall(r"<b>Image (\d+)</b>.*?<br>(.*?)</p>", above, re.DOTALL)
    fits = fit_patches(np.asarray(evidence.maps), evidence.removed, evidence.drop[:, 0])
    shown = [float(fits[int(name)]) for name, _ in cards]
    assert len(shown) == 4 and min(shown[:2]) > max(shown[2:])
    for (name, words), fit in zip(cards, shown, strict=True):
        assert words.startswith(f"fit {fit:.2f}".replace("-", "−"))
        hit = relevance_top(evidence.maps[[int(name)]], evidence.objects[[int(name)]])
        assert f", {'' if hit == 1 else f'{round(5 * hit)} of 5 pixels '}on the object" in words
    assert above.count('class="region"') == above.count('class="truth"') == 4
    assert above.count("<img ") == 4 and above.count("<image id=") == 4


def test_scores_of_images_are_those_of_the_metrics() -> None:
    evidence = small_evidence()
    fits, hits = score_images(evidence)
    result = theodolite.audit(evidence, resamples=20)
    assert fits.mean() == pytest.approx(result["map_fit"].value)
    assert hits.mean() == pytest.approx(result["relevance_top"].value)
    alone = score_images(SaliencyEvidence(maps=evidence.maps))
    assert np.isnan(alone).all()


def test_extremes_with_few_values() -> None:
    assert choose_extremes(np.array([np.nan, 0.2, 0.4])) == [2, 1, 0]
    assert choose_extremes(np.full(6, np.nan)) == [0, 1, 2, 3]
    assert len(choose_extremes(np.arange(12.0))) == 4


def test_without_images_nothing_is_shown(tmp_path: Path) -> None:
    page = theodolite.audit(planted_saliency(30), resamples=20).report(tmp_path / "r.html")
    assert "map-images" not in re.sub(r"<style>.*?</style>", "", page.read_text(), flags=re.DOTALL)
