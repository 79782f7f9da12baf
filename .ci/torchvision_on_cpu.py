"""Mend torchvision in the environment of the checks.

The registry has torchvision built for CUDA only. Beside a CPU build of torch its compiled half does
not load, and its Python half then stops at operators that nobody declared. Declaring them first is
enough for models and transforms; `nms` and torchvision's own file readers stay unusable.
"""

import importlib.util
from pathlib import Path

import torch

MARK = "# declared for a CPU build of torch\n"
LINES = MARK + (
    "import torch as _torch\n"
    "_declared = _torch.library.Library('torchvision', 'FRAGMENT')\n"
    "for _name in ('nms', 'qnms'):\n"
    "    _declared.define(_name + '(Tensor dets, Tensor scores, float iou_threshold) -> Tensor')\n"
)

found = importlib.util.find_spec("torchvision")
if found is not None and found.origin and torch.version.cuda is None:
    entry = Path(found.origin)
    text = entry.read_text()
    if MARK not in text:
        entry.write_text(LINES + text)
