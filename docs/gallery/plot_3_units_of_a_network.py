"""
What do the units of a small network detect?
============================================

A network with one convolutional layer learns digits. We compare its units with concepts in the
images: horizontal and vertical strokes, and holes that a stroke encloses.
"""

# %%
# Masks of four concepts, computed from the images.

import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy.ndimage import binary_fill_holes, zoom
from sklearn.datasets import load_digits

import theodolite

digits = load_digits()
large = np.stack([zoom(image, 4, order=1) for image in digits.images[:600]])
ink = large > 8
down, across = np.gradient(large, axis=(1, 2))
hole = np.stack([binary_fill_holes(one) & ~one for one in ink])
horizontal = ink & (np.abs(down) > np.abs(across))
numbers = np.select([hole, horizontal, ink], [3, 1, 2], 4)
label_maps = [one[None] for one in numbers]  # one layer of labels for each image

# %%
# A few rounds of training, then the activations of its eight units.

torch.manual_seed(0)
inputs = torch.tensor(digits.images[:, None] / 16, dtype=torch.float32)
filters = torch.nn.Conv2d(1, 8, 3, padding=1)
head = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(512, 10))
optimizer = torch.optim.Adam([*filters.parameters(), *head.parameters()], lr=0.02)
for _ in range(30):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(head(filters(inputs)), torch.tensor(digits.target)).backward()
    optimizer.step()
with torch.no_grad():
    activations = filters(inputs[:600]).relu().numpy().astype(float)

# %%
# The search labels each unit with the formula of concepts that fits best. A search always finds a
# formula, so the baseline is the same search on masks of other images. Overlaps are small, because
# a unit marks only 5 % of the pixels. Three units exceed the baseline.

names = ["horizontal", "vertical", "hole", "paper"]
result = theodolite.dissect(activations, label_maps, names, quantile=0.95)
audit = theodolite.audit(result.evidence)
print(next(v for v in audit.verdicts if v.question == "detects").summary)
overlap = next(s for s in audit.scores if s.metric == "unit_iou" and s.detail is not None)

figure, axes = plt.subplots(figsize=(7, 3.4))
rows = np.arange(8)
detail = overlap.detail
axes.barh(rows, detail.values, color="tab:blue", alpha=0.5)
axes.hlines(rows, detail.low, detail.high, color="tab:blue", lw=3)
axes.axvline(overlap.null.value, color="black", ls=":", label=overlap.null.name)
axes.set_yticks(rows, [str(formula) for formula in result.formulas()])
axes.invert_yaxis()
axes.set(xlabel="overlap (IoU) of the unit with its formula")
axes.legend(frameon=False)
figure.tight_layout()

# sphinx_gallery_thumbnail_path = '_static/thumbnails/units_of_a_network.svg'
