"""Specs of the protocols, one YAML file each."""

from pathlib import Path

PROTOCOLS = Path(__file__).parent
