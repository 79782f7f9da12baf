"""Table rows of the attribution methods other than CAMs, and of the baselines."""

from functools import partial

from theodolite.explainers.saliency.technique import Technique

_ANY = ("CNN", "ViT", "CLIP (zero-shot)")
_image = partial(Technique, attribution_on="images", stage="post-hoc", applies_to=_ANY)
_captum = partial(_image, library="captum")
_null = partial(
    _image,
    functioning="none",
    library="ours",
    sign="positive",
    loses="Everything: it is a null.",
    cite="",
    cost="nothing",
)

OTHERS = (
    _captum(
        name="saliency",
        title="Gradient",
        functioning="gradient",
        sign="positive",
        scale="size of the logit's gradient, the largest of three channels",
        loses="Whether a pixel should be lighter or darker.",
        cite="simonyan2014deep",
        cost="one forward and backward pass",
    ),
    _captum(
        name="integrated_gradients",
        title="Integrated gradients",
        functioning="gradient",
        sign="signed",
        scale="logits, summed over channels: a map sums to the logit less that of the baseline",
        loses="",
        cite="sundararajan2017axiomatic",
        cost="50 forward and backward passes",
    ),
    _captum(
        name="gradient_shap",
        title="GradientSHAP",
        functioning="gradient",
        sign="signed",
        scale="logits, summed over channels: about the logit less that of the baseline",
        loses="The baseline is one color, not a sample of images.",
        cite="lundberg2017unified",
        cost="20 forward and backward passes",
    ),
    _captum(
        name="occlusion",
        title="Occlusion",
        functioning="perturbation",
        sign="signed",
        scale="drop of the logit when a window is covered, averaged over the windows at a pixel",
        loses="",
        cite="zeiler2014visualizing",
        cost="one forward pass per window, by default 169",
    ),
    _captum(
        name="kernel_shap",
        title="Kernel SHAP",
        functioning="perturbation",
        sign="signed",
        scale="logits per cell of a grid: the cells sum to the logit less that of the baseline",
        loses="Anything finer than a cell.",
        cite="lundberg2017unified",
        cost="300 forward passes",
    ),
    _image(
        name="lime",
        title="LIME",
        functioning="perturbation",
        library="lime",
        sign="signed",
        scale="weight of a segment in a linear model of the probability; with top=n only -1, 0, 1",
        loses="Anything finer than a segment; a segment of one color is worth nothing unless "
        "hidden='zero', because hidden segments get their mean color.",
        cite="ribeiro2016why",
        cost="1000 forward passes",
        paper=True,
    ),
    _image(
        name="shap",
        title="SHAP",
        functioning="perturbation",
        library="shap",
        sign="signed",
        scale="logits, summed over channels: a map sums to the logit less that of the hidden image",
        loses="Owen values of halves of halves: what lies in one region after all passes are "
        "spent shares its value evenly.",
        cite="lundberg2017unified",
        cost="500 forward passes",
        paper=True,
    ),
    Technique(
        name="bcos",
        title="B-cos",
        functioning="interpretable latent space",
        attribution_on="images",
        stage="ante-hoc",
        applies_to=("B-cos network",),
        library="bcos",
        sign="signed",
        scale="contribution to the logit: a map sums to the logit before a fixed scale and bias",
        loses="The colors in which the contribution can be shown.",
        cite="bohle2024bcos",
        cost="one forward and backward pass",
        paper=True,
    ),
    _image(
        name="rise",
        title="RISE",
        functioning="perturbation",
        library="ours",
        sign="positive",
        scale="mean probability of the class where the pixel is kept",
        loses="A constant: only differences within a map say something.",
        cite="petsiuk2018rise",
        cost="500 forward passes",
    ),
    _null(name="random", title="Random map", scale="0 to 1, uniform noise"),
    _null(name="smooth_random", title="Smooth random map", scale="0 to 1, broad random hills"),
    _null(name="center", title="Bell in the center", scale="0 to 1, a bell of fixed width"),
)
