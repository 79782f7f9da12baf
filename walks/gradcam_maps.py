"""Audit maps that you made with pytorch-grad-cam (needs theodolite[explain]).

The class of each image is the color of one square, and the network was trained to see it. So the
true answers are known before the audit.
"""

from pytorch_grad_cam import GradCAM
from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget

import theodolite
from theodolite.datasets import planted_shapes

net, images, masks = planted_shapes(60)
target = net(images).argmax(1)

# Grad-CAM at the last ReLU, as pytorch-grad-cam returns it: (images, rows, columns)
with GradCAM(model=net, target_layers=[net[6]]) as cam:
    maps = cam(images, targets=[ClassifierOutputTarget(int(label)) for label in target])
methods = {"Grad-CAM": maps, "another image": maps[::-1].copy()}
results = theodolite.audit_saliency(
    methods, images, model=net, masks=masks, target=target, quick=True
)
for method, result in results.items():
    print(result)
    located, faithful = (result.verdicts[name].answer for name in ("located", "faithful"))
    if method == "Grad-CAM":  # a coarse map lies near the threshold of 80 % of the best possible
        assert located == "yes", result
        assert faithful in ("yes", "partly"), result
    else:
        assert located == faithful == "no", result
