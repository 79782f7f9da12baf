"""Load one network through every scheme of `load_model` (needs theodolite[clip,embed,explain]).

The weights are random. timm, your own code and torch.export get the same ones, so their maps and
verdicts must be the same. No network access is needed.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import timm
import torch
import torchvision
import transformers

import theodolite
from theodolite.datasets import write_shapes

os.chdir(tempfile.mkdtemp())
torch.manual_seed(0)
write_shapes(Path("shapes"))
images = np.random.default_rng(0).normal(size=(3, 3, 64, 64)).astype(np.float32)
pixels = {"size": 64, "mean": 0.5, "std": 0.5}

# the same network three times: by name and weights, by a function, by an exported file
network = timm.create_model("test_resnet", num_classes=3).eval()
torch.save(network.state_dict(), "weights.pt")
Path("nets.py").write_text(
    "import timm\n\ndef build():\n    return timm.create_model('test_resnet', num_classes=3)\n"
)
batch = {0: torch.export.Dim("n")}
torch.export.save(
    torch.export.export(network, (torch.zeros(2, 3, 64, 64),), dynamic_shapes=(batch,)), "net.pt2"
)
same = [
    theodolite.load_model("timm:test_resnet", weights="weights.pt", preprocessing=pixels),
    theodolite.load_model("python:nets:build", weights="weights.pt", preprocessing=pixels),
    theodolite.load_model("export:net.pt2", preprocessing=pixels),
]
maps = [model.maps(images, "layer4") for model in same]
audits = [
    theodolite.audit(model=model, layer="layer4", data="shapes", resamples=50) for model in same
]
for model, own, result in zip(same, maps, audits, strict=True):
    print(model.name, {v.question: v.answer for v in result.verdicts})
    assert np.abs(own - maps[0]).max() < 1e-5
    values = [[score.value for score in audit.scores] for audit in (result, audits[0])]
    assert np.allclose(*values, atol=1e-5, equal_nan=True)
    assert [v.summary for v in result.verdicts] == [v.summary for v in audits[0].verdicts]

# code of a model is run on the command line only if you say that you trust it
command = [sys.executable, "-c", "from theodolite.cli import main; main()", "audit"]
refused = subprocess.run(
    [*command, "--data", "shapes", "--model", "export:net.pt2"], capture_output=True, text=True
)
print(refused.stderr.strip())
assert refused.returncode == 3
assert "--trust-model" in refused.stderr

# torchvision and transformers: the outputs are those of the library's own module
library = torchvision.models.resnet18(weights=None, num_classes=4).eval()
torch.save(library.state_dict(), "torchvision.pt")
loaded = theodolite.load_model("torchvision:resnet18", weights="torchvision.pt")
assert np.abs(loaded.forward(images) - library(torch.tensor(images)).detach().numpy()).max() < 1e-4

config = transformers.ViTConfig(
    image_size=64, patch_size=8, hidden_size=48, num_hidden_layers=2, num_attention_heads=2,
    intermediate_size=64, id2label={0: "cat", 1: "dog"},
)  # fmt: skip
eager = transformers.ViTForImageClassification(config).eval()
eager.save_pretrained("checkpoint")
transformers.ViTImageProcessor(size={"height": 64, "width": 64}).save_pretrained("checkpoint")
loaded = theodolite.load_model("hf:checkpoint")
logits = eager(pixel_values=torch.tensor(images)).logits.detach().numpy()
print(loaded.name, loaded.classes, loaded.layer)
assert loaded.classes == ("cat", "dog")
assert np.abs(loaded.forward(images) - logits).max() < 1e-5
assert loaded.maps(images).shape == (3, 48, 8, 8)


# onnx: usually written by torch.onnx.export; here by hand, since that needs another package
def field(number: int, value: int | str | bytes) -> bytes:
    """Encode one field of a protobuf message."""
    if isinstance(value, int):
        return bytes([number << 3]) + bytes([value])
    content = value.encode() if isinstance(value, str) else value
    length = len(content)
    prefix = [
        *([length & 127 | 128] if length > 127 else []),
        length >> 7 if length > 127 else length,
    ]
    return bytes([number << 3 | 2, *prefix]) + content


def node(kind: str, inputs: list[str], output: str, attributes: bytes = b"") -> bytes:
    names = b"".join(field(1, name) for name in inputs)
    return field(1, names + field(2, output) + field(4, kind) + attributes)


def value(number: int, name: str, shape: list[int | str]) -> bytes:
    sizes = b"".join(field(1, field(1 if isinstance(n, int) else 2, n)) for n in shape)
    return field(number, field(1, name) + field(2, field(1, field(1, 1) + field(2, sizes))))


def tensor(name: str, array: np.ndarray) -> bytes:
    dims = b"".join(field(1, n) for n in array.shape)
    return field(5, dims + field(2, 1) + field(8, name) + field(9, array.tobytes()))


conv = np.random.default_rng(1).normal(size=(4, 3, 3, 3)).astype(np.float32)
head = np.random.default_rng(2).normal(size=(4, 2)).astype(np.float32)
graph = b"".join([
    node("Conv", ["images", "conv"], "filtered"), node("Relu", ["filtered"], "maps"),
    node("GlobalAveragePool", ["maps"], "pooled"), node("Flatten", ["pooled"], "flat"),
    node("MatMul", ["flat", "head"], "logits"), field(2, "net"), tensor("conv", conv),
    tensor("head", head), value(11, "images", ["n", 3, 64, 64]), value(12, "logits", ["n", 2]),
    value(12, "maps", ["n", 4, 62, 62]),
])  # fmt: skip
opset = field(8, field(2, 17))
Path("net.onnx").write_bytes(field(1, 8) + opset + field(7, graph))
loaded = theodolite.load_model("onnx:net.onnx", preprocessing=pixels, classes=["cat", "dog"])
by_torch = torch.relu(torch.conv2d(torch.tensor(images), torch.tensor(conv)))
print(loaded.name, loaded.layers, "gradients:", loaded.gradients)
assert np.abs(loaded.forward(images) - by_torch.mean((2, 3)).numpy() @ head).max() < 1e-5
assert np.abs(loaded.maps(images, "maps") - by_torch.numpy()).max() < 1e-5
