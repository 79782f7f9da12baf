"""Table of the methods that explain a concept bottleneck: properties, scale and reference."""

from collections.abc import Mapping
from types import MappingProxyType

from theodolite.explainers.saliency.technique import Technique

_ANY = ("any concept head",)

_ROWS = (
    Technique(
        name="lime_cbm",
        title="LIME-CBM",
        functioning="perturbation",
        attribution_on="concepts",
        stage="post-hoc",
        applies_to=_ANY,
        library="lime",
        sign="signed",
        scale="what it adds to the class's probability that the concept is in its quartile",
        loses="values are cut at the quartiles of the background; within one, all are alike",
        cite="ribeiro2016why",
        cost="1000 calls of the head a sample",
        paper=True,
    ),
    Technique(
        name="shap_cbm",
        title="SHAP-CBM",
        functioning="perturbation",
        attribution_on="concepts",
        stage="post-hoc",
        applies_to=_ANY,
        library="shap",
        sign="signed",
        scale="shares of the class's probability; they sum to it less its mean on the background",
        loses="the background is summed up in ten weighted means; more than about 11 concepts are "
        "sampled, not counted out",
        cite="lundberg2017unified",
        cost="(2048 + 2 a concept) times ten calls of the head a sample",
        paper=True,
    ),
    Technique(
        name="rise_cbm",
        title="RISE-CBM",
        functioning="perturbation",
        attribution_on="concepts",
        stage="post-hoc",
        applies_to=_ANY,
        library="ours",
        sign="positive",
        scale="the class's mean probability, 0 to 1, over masks that keep the concept",
        loses="evidence against the class only lowers the value; masked concepts take their mean, "
        "which may fit no sample",
        cite="petsiuk2018rise",
        cost="2000 calls of the head a sample",
        paper=True,
    ),
    Technique(
        name="linear_head",
        title="Linear head (CLIP-linear)",
        functioning="interpretable latent space",
        attribution_on="concepts",
        stage="ante-hoc",
        applies_to=("linear concept head",),
        library="ours",
        sign="signed",
        scale="weight times value; they and the bias sum to the class's logit",
        loses="what the other classes' logits do; a concept with a large mean has a large share",
        cite="yan2023learning",
        cost="none: one product",
        paper=True,
    ),
    Technique(
        name="clip_qda",
        title="CLIP-QDA counterfactual",
        functioning="counterfactual",
        attribution_on="concepts",
        stage="ante-hoc",
        applies_to=("Gaussian concept head",),
        library="ours",
        sign="signed",
        scale="a distance, so SMALL is important: the least change of this concept alone that "
        "changes the decision, in the concept's own units; NaN where none does",
        loses="changes of several concepts at once",
        cite="kazmierczak2024clip",
        cost="none: a quadratic for each concept and class",
        paper=True,
    ),
    Technique(
        name="x_nesyl",
        title="X-NeSyL-style linear",
        functioning="interpretable latent space",
        attribution_on="concepts",
        stage="ante-hoc",
        applies_to=("linear head on counts or presences from a detector",),
        library="ours",
        sign="signed",
        scale="weight times count; they and the bias sum to the class's logit",
        loses="the method's training, which also pulls the detector towards an expert's knowledge "
        "graph through SHAP values, is not done: only its form, a detector and a linear layer",
        cite="diaz2022explainable",
        cost="none: one product",
        paper=True,
    ),
)

TECHNIQUES: Mapping[str, Technique] = MappingProxyType({row.name: row for row in _ROWS})
