r"""Checks the bridge to MLflow in an environment that has MLflow: it does not go with our lock.

    python -m venv mlf
    mlf/bin/pip install --no-compile mlflow-skinny==3.17.2 editables hatchling \
        hatch-fancy-pypi-readme jaxtyping jinja2 \
        latex2mathml numba pillow pyarrow pyyaml rich safetensors scikit-learn scipy \
        threadpoolctl typer
    mlf/bin/pip install --no-compile --no-deps --no-build-isolation .
    mlf/bin/python .ci/mlflow_sink.py RUN

RUN is a finished run folder, made in the usual environment, so that this one needs little.
"""

import os
import sys
import tempfile
from pathlib import Path

os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.runs.mlflow_checks import check_sink

with tempfile.TemporaryDirectory() as folder:
    check_sink(Path(sys.argv[1]), Path(folder) / "mlruns")
print("ok: MLflow has what the run folder says")
