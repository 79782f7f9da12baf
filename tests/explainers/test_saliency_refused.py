"""What cannot be explained, and what the error says to do."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("pytorch_grad_cam", reason="pip install 'theodolite[explain]'")

from support.networks.saliency_networks import (  # noqa: E402
    Quadrant,
    QuadrantOfTokens,
    images,
    linear,
    quadrant_images,
    small_cnn,
    small_vit,
)
from theodolite.errors import EvidenceError  # noqa: E402
from theodolite.explainers.saliency.methods import OPTIONS, explainer  # noqa: E402

ONE = np.array([1])


def test_a_method_that_is_not_known() -> None:
    with pytest.raises(EvidenceError, match=r"'grad_cham'; needed one of grad_cam, hires_cam"):
        explainer("grad_cham", small_cnn())


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_that_is_not_known(name: str) -> None:
    listed = ", ".join(OPTIONS[name]) or "none at all"
    with pytest.raises(EvidenceError, match=f"'color'; needed some of: {listed}"):
        explainer(name, small_cnn(), options={"color": 1})


@pytest.mark.parametrize(
    ("name", "option", "value", "says"),
    [
        ("rise", "masks", 0, "at least 1"),
        ("rise", "masks", True, "at least 1"),
        ("rise", "masks", 2.5, "at least 1"),
        ("lime", "kernel_width", 0, "above 0"),
        ("lime", "top", -1, "at least 1"),
        ("occlusion", "baseline", float("nan"), "finite"),
        ("grad_cam", "values", "red", "one of signed, rectified, library"),
    ],
)
def test_an_option_out_of_range(name: str, option: str, value: Any, says: str) -> None:
    with pytest.raises(EvidenceError, match=f"option {option} of {name}.*{says}"):
        explainer(name, small_cnn(), options={option: value})


def test_a_share_of_all_is_no_mask() -> None:
    with pytest.raises(EvidenceError, match=r"keep.*between 0 and 1"):
        explainer("rise", small_cnn(), options={"keep": 1.0})(images(1), ONE)


def test_windows_that_leave_something_uncovered() -> None:
    for options in ({"window": 2, "stride": 3}, {"window": 99}):
        with pytest.raises(EvidenceError, match="nothing uncovered"):
            explainer("occlusion", small_cnn(), options=options)(images(1), ONE)


def test_a_network_without_places() -> None:
    with pytest.raises(EvidenceError, match=r'Pass layer="\.\.\.", and grid=\(rows, columns\)'):
        explainer("grad_cam", linear(16)[0])(images(1), ONE)


class NoNorm(torch.nn.Module):  # type: ignore[misc,name-defined]
    """Tokens, and none of the names that libraries give to a block's first norm."""

    def __init__(self) -> None:
        super().__init__()
        self.cut, self.first = QuadrantOfTokens().cut, torch.nn.Identity()

    def forward(self, x: Any) -> Any:
        maps = self.cut(x)
        tokens = self.first(maps.flatten(2).mT)
        return Quadrant.answers(tokens.mT.unflatten(2, maps.shape[2:]))


def test_tokens_without_a_norm_that_opens_a_block() -> None:
    with pytest.raises(EvidenceError, match=r"no norm that is known.*Pass layer="):
        explainer("grad_cam", NoNorm())(quadrant_images(1), ONE)
    assert explainer("grad_cam", NoNorm(), layer="first")(quadrant_images(1), ONE).any()


def test_a_layer_that_is_not_there_or_has_no_places() -> None:
    with pytest.raises(EvidenceError, match=r"'head'; needed the name of a module, such as .*7"):
        explainer("grad_cam", small_cnn(), layer="head")(images(1), ONE)
    with pytest.raises(EvidenceError, match="Name a layer before the pooling"):
        explainer("grad_cam", small_cnn(), layer="6")(images(1), ONE)


def test_a_layer_that_is_used_twice() -> None:
    shared = torch.nn.Conv2d(3, 3, 3, padding=1)
    network = torch.nn.Sequential(shared, torch.nn.Sequential(shared), torch.nn.Flatten())
    with pytest.raises(EvidenceError, match="called 2 times"):
        explainer("grad_cam", network, layer="0")(images(1), ONE)


def test_a_grid_that_is_wrong() -> None:
    with pytest.raises(EvidenceError, match=r"grid: got \(3, 5\); needed \(4, 4\)"):
        explainer("grad_cam", small_vit(), grid=(3, 5))(images(1), ONE)
    assert explainer("grad_cam", small_vit(), grid=(4, 4))(images(1), ONE).any()


class Uncut(QuadrantOfTokens):
    """Patches that no convolution cut: only the caller knows how they lay."""

    def forward(self, x: Any) -> Any:
        maps = torch.nn.functional.avg_pool2d(x, 4)
        tokens = self.norm1(maps.flatten(2).mT)
        return tokens.mean(dim=1)


def test_a_layout_that_cannot_be_found() -> None:
    wide = quadrant_images(1, 16, 24)
    with pytest.raises(EvidenceError, match=r"not a square.*Pass grid=\(rows, columns\)"):
        explainer("grad_cam", Uncut())(wide, ONE)
    with pytest.raises(EvidenceError, match="Pass grid"):
        explainer("grad_cam", Uncut(), grid=(9, 9))(wide, ONE)
    assert explainer("grad_cam", Uncut(), grid=(4, 6))(wide, ONE).shape == (1, 16, 24)


def test_a_layer_after_the_last_attention() -> None:
    with pytest.raises(EvidenceError, match=r"before the last attention.*blocks"):
        explainer("grad_cam", small_vit(), layer="norm")(images(1), ONE)


def test_full_grad_of_a_transformer() -> None:
    with pytest.raises(EvidenceError, match=r"1 convolutions .* needed a CNN"):
        explainer("full_grad", small_vit())(images(1), ONE)


@pytest.mark.parametrize("name", ["grad_cam", "saliency", "lime", "rise", "shap", "full_grad"])
@pytest.mark.parametrize("target", [4, -1])
def test_a_class_that_the_network_does_not_have(name: str, target: int) -> None:
    with pytest.raises(EvidenceError, match=r"targets.*0 to 3"):
        explainer(name, small_cnn())(images(1), np.array([target]))


def test_a_network_that_gives_no_class_scores() -> None:
    with pytest.raises(EvidenceError, match="one row of class scores"):
        explainer("saliency", torch.nn.Conv2d(3, 2, 1))(images(1), ONE)


def test_images_with_holes() -> None:
    given = images(1)
    given[0, 0, 0, 0] = np.nan
    with pytest.raises(EvidenceError, match="finite"):
        explainer("center", small_cnn())(given, ONE)


def test_a_network_that_cannot_be_copied() -> None:
    network = small_cnn()
    network.kept = network(torch.from_numpy(images(1)))
    with pytest.raises(EvidenceError, match="cannot be copied"):
        explainer("saliency", network)


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("grad_cam", "pytorch_grad_cam", "explain"),
        ("saliency", "captum.attr", "explain"),
        ("lime", "lime.lime_image", "explain"),
        ("shap", "shap", "explain"),
        ("bcos", "bcos", "bcos"),
    ],
)
def test_a_library_that_is_missing(
    name: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    short = package.split(".")[0]
    with pytest.raises(EvidenceError, match=rf"no {short}.*pip install 'theodolite\[{extra}\]'"):
        explainer(name, small_cnn())


def test_bcos_wants_a_network_that_explains_itself() -> None:
    pytest.importorskip("bcos", reason="pip install 'theodolite[bcos]'")
    with pytest.raises(EvidenceError, match=r"without \.explain\(\).*B-cos network"):
        explainer("bcos", small_cnn())


def test_the_table_loads_nothing_heavy() -> None:
    check = (
        "import sys, theodolite.explainers.saliency.methods\n"
        "bad = {'torch', 'captum', 'shap', 'lime', 'pytorch_grad_cam'} & set(sys.modules)\n"
        "assert not bad, bad"
    )
    done = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
