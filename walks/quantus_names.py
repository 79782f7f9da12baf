"""Audit maps that you scored with Quantus, by its names (needs theodolite[explain] and Quantus).

The class of each image is the color of one square, and the network was trained to see it.
"""

import quantus
from captum.attr import InputXGradient

import theodolite
from theodolite.datasets import planted_shapes

net, images, masks = planted_shapes(60)
target = net(images).argmax(1)
signed = InputXGradient(net).attribute(images, target=target).detach()
maps = signed.abs().sum(1)

# what you have: a number for each image, without baseline, interval or answer
batch = {"model": net, "x_batch": images.numpy(), "y_batch": target.numpy(),
         "a_batch": maps[:, None].numpy(), "s_batch": masks[:, None].numpy()}  # fmt: skip
settings = {"abs": False, "normalise": False, "disable_warnings": True}
metrics = ["PointingGame", "RelevanceRankAccuracy", "RelevanceMassAccuracy"]
yours = {name: getattr(quantus, name)(**settings)(**batch) for name in metrics}

# the same names are taken here, and give the same numbers
result = theodolite.audit_saliency(maps, masks=masks, metrics=metrics)
for name in metrics:
    score = result[name]
    mean = sum(map(float, yours[name])) / len(maps)
    print(f"{name}: {mean:.3f}; {score.metric} here: {score.value:.3f}")
    assert abs(score.value - mean) < 1e-6, name

# subsets of patches are drawn again, so the number of FaithfulnessCorrelation differs
results = theodolite.audit_saliency(
    {"own": signed, "another image": signed.roll(1, 0)}, images, model=net, target=target,
    quick=True, metrics=["FaithfulnessCorrelation"],
)  # fmt: skip
assert results["own"].verdicts["faithful"].answer == "yes"
assert results["another image"].verdicts["faithful"].answer == "no"
assert results["own"]["FaithfulnessCorrelation"].metric == "map_fit"

# a name with another definition is refused, with the nearest score
refused = ""
try:
    theodolite.audit_saliency(maps, masks=masks, metrics=["ROAD"])
except theodolite.EvidenceError as error:
    refused = str(error)
assert "removal_faithfulness" in refused
