"""A study: people rate two ways of explaining why an image shows its digit.

python examples/study.py              (needs theodolite[study])
"""

from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

from theodolite.ext import Answer, Item, material_from_arrays
from theodolite_study.new_study import NewStudy, write_new_study

STUDY = Path("digits-study")
images, labels = load_digits(return_X_y=True)
images = images.reshape(-1, 8, 8)
usual = np.stack([images[labels == digit].mean(axis=0) for digit in range(10)])
random = np.random.default_rng(0)

items = []
for row in range(12):
    large = Image.fromarray((255 - 15 * images[row]).astype(np.uint8)).convert("RGB")
    large = large.resize((320, 320), Image.Resampling.NEAREST)
    maps = {
        "what its digit has": images[row] * (usual[labels[row]] - usual.mean(axis=0)),
        "anything": random.normal(size=(8, 8)),
    }
    for technique, relevance in maps.items():
        marked = np.kron(relevance, np.ones((40, 40)))
        shown = Answer(image=large, predicted=f"digit {labels[row]}", map=marked)
        items.append(Item(image_key=f"digit {row}", technique=technique, shown=shown))

material = material_from_arrays(items, STUDY)
write_new_study(STUDY, material, NewStudy(title="What makes the digit?", contact="you@example.org"))
print(f"{len(material.instances)} explanations. Now:  theodolite study serve {STUDY}")
print(f"Then:  theodolite study export {STUDY} --out votes; theodolite audit votes")
