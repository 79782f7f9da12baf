"""Small trained networks with cards, and the recipes that train them."""

from pathlib import Path

SHELF = Path(__file__).parent / "shelf"
"""Folder of the networks: a folder each, with card and weights."""
