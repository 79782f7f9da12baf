"""From a torch model: a small network learns drawn shapes; can its concepts be relied upon?

python examples/torch_model.py        (needs theodolite[torch])
"""

from pathlib import Path

import numpy as np
import torch
from torch import nn
from torchvision.transforms.functional import normalize

import theodolite
from theodolite.ext import folder, write_shapes

DATA = Path("shapes")
if not DATA.exists():
    write_shapes(DATA, 96)  # images, concepts, places and masks: the format for your own
data = folder(root=DATA)

torch.manual_seed(0)
layers = [nn.Conv2d(3, 16, 5, stride=4, padding=2), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=4)]
layers += [nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, len(data.classes))]
network = nn.Sequential(*layers)

train = (~data.is_test).nonzero()[0]
shown = np.stack([data.image(i).resize((224, 224)) for i in train]).transpose(0, 3, 1, 2)
images = normalize(torch.tensor(shown) / 255, [0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
labels = torch.tensor(data.labels[train])
optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
for _ in range(60):
    optimizer.zero_grad()
    nn.functional.cross_entropy(network(images), labels).backward()
    optimizer.step()

result = theodolite.audit(model=network.eval(), layer="3", data=DATA)
print(result)
print("report:", result.report("shapes.html"))
