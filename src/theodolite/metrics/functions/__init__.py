"""One function a metric. Written by `python -m theodolite.metrics`; do not edit."""
