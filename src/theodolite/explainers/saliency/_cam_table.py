"""Table rows of the class activation map methods of grad-cam."""

from functools import partial

from theodolite.explainers.saliency.technique import Technique

_ANY = ("CNN", "ViT", "CLIP (zero-shot)")
_LOGIT = "the class's logit"
_STRETCHED = "Anything finer than the layer's grid is interpolated."
_cam = partial(Technique, attribution_on="images", stage="post-hoc", library="grad-cam", paper=True)
_gradient = partial(
    _cam, functioning="gradient", applies_to=_ANY, cost="one forward and backward pass"
)

CAMS = (
    _gradient(
        name="grad_cam",
        title="Grad-CAM",
        sign="signed",
        scale=f"gradients of {_LOGIT}, averaged over places, times activations; before the "
        "rectification that values='rectified' puts on",
        loses=_STRETCHED,
        cite="selvaraju2017grad",
    ),
    _gradient(
        name="hires_cam",
        title="HiResCAM",
        sign="signed",
        scale=f"gradients of {_LOGIT} times activations, summed over channels",
        loses=_STRETCHED,
        cite="draelos2020hirescam",
    ),
    _gradient(
        name="grad_cam_elementwise",
        title="Grad-CAM element-wise",
        sign="positive",
        scale=f"gradients of {_LOGIT} times activations, each product rectified, then summed",
        loses=f"What speaks against the class is set to 0 in each channel. {_STRETCHED}",
        cite="pillai2021explainable",
    ),
    _gradient(
        name="grad_cam_plus_plus",
        title="Grad-CAM++",
        sign="signed",
        scale=f"weights that are never below 0, from powers of the gradients of {_LOGIT}, times "
        "activations",
        loses="The weights take the score to be the exponential of the logit, and are not scaled "
        f"by it. {_STRETCHED}",
        cite="chattopadhay2018grad",
    ),
    _gradient(
        name="x_grad_cam",
        title="XGrad-CAM",
        sign="signed",
        scale=f"gradients of {_LOGIT} times activations, as shares of each channel's sum, times "
        "activations",
        loses="A channel whose activations nearly cancel gets a huge weight: use a layer after a "
        f"ReLU. {_STRETCHED}",
        cite="fu2020axiom",
    ),
    _cam(
        name="ablation_cam",
        title="Ablation-CAM",
        functioning="perturbation",
        applies_to=_ANY,
        sign="signed",
        scale=f"by what share of its size {_LOGIT} drops without a channel, times activations",
        loses="Outputs of the layer below 0 turn their part of the map over: name a layer after a "
        "ReLU. The library divides by the logit; the sign of a logit below 0 is undone here. "
        f"{_STRETCHED}",
        cite="desai2020ablation",
        cost="one forward pass per channel",
    ),
    _cam(
        name="score_cam",
        title="Score-CAM",
        functioning="perturbation",
        applies_to=_ANY,
        sign="signed",
        scale=f"softmax over channels of {_LOGIT} with the image masked by each, times activations",
        loses="Outputs of the layer below 0 turn their part of the map over: name a layer after a "
        "ReLU. The weights are a softmax of logits, not their rise over an empty image. "
        f"{_STRETCHED}",
        cite="wang2020score",
        cost="one forward pass per channel",
    ),
    _cam(
        name="eigen_cam",
        title="Eigen-CAM",
        functioning="factorisation",
        applies_to=_ANY,
        sign="signed",
        scale="activations along their first principal direction",
        loses="The class is not looked at, and the side that is positive is chance unless "
        f"side='sum'. {_STRETCHED}",
        cite="muhammad2020eigen",
        cost="one forward pass and a singular value decomposition",
    ),
    _cam(
        name="eigen_grad_cam",
        title="Eigen-Grad-CAM",
        functioning="gradient and factorisation",
        applies_to=_ANY,
        sign="signed",
        scale=f"gradients of {_LOGIT} times activations, along their first principal direction",
        loses=f"The side that is positive is chance unless side='sum'. {_STRETCHED}",
        cite="muhammad2020eigen",
        cost="one forward and backward pass and a singular value decomposition",
    ),
    _gradient(
        name="layer_cam",
        title="LayerCAM",
        sign="signed",
        scale=f"gradients of {_LOGIT} above 0 times activations, summed over channels",
        loses=f"Gradients below 0 are set to 0. {_STRETCHED}",
        cite="jiang2021layercam",
    ),
    _cam(
        name="full_grad",
        title="FullGrad",
        functioning="gradient",
        applies_to=("CNN",),
        sign="positive",
        scale="0 to 1 in each image: the library rescales every channel and the sum",
        loses="Signs, scale, and the biases of layers other than convolutions and batch norms; a "
        "transformer has hardly any of these.",
        cite="srinivas2019full",
        cost="one forward and backward pass, and one resizing per channel of every layer",
    ),
    _cam(
        name="deep_feature_factorization",
        title="Deep feature factorisation",
        functioning="factorisation",
        applies_to=_ANY,
        sign="signed",
        scale=f"each concept's share of places, times by how much {_LOGIT} drops without it; the "
        "map at the layer's grid sums to the drops",
        loses="Each image is factorised alone, so its concepts are not those of another; the "
        "library's factorisation has a seed of its own.",
        cite="collins2018deep",
        cost="a factorisation and one forward pass per concept",
    ),
)
