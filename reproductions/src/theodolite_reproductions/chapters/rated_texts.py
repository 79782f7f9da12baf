"""Explanations in words at both ends of a learned score, and those that it misjudges most."""

from typing import Any

import numpy as np

from theodolite._runs.report_material import RunMaterial


def rated_texts(material: RunMaterial) -> list[dict[str, Any]]:
    """Return groups of explanations; none if the run keeps no predictions of texts."""
    table = material.table("predictions") or {}
    column = next((name for name in table if name.startswith("predicted by ")), None)
    if column is None or "text" not in table:
        return []
    predictions = np.array(table[column], float)  # None becomes NaN
    ratings = np.array(table["rating"], float)
    known = np.flatnonzero(~np.isnan(predictions + ratings))
    orders = {
        "Highest predicted acceptance": -predictions,
        "Lowest predicted acceptance": predictions,
        "Misjudged most": -np.abs(predictions - ratings),
    }
    return [
        {
            "title": title,
            "texts": [
                {
                    "context": str(table["context"][row]),
                    "text": str(table["text"][row]),
                    "predicted": f"{predictions[row]:.2f}",
                    "rating": f"{ratings[row]:.2f}",
                }
                for row in known[np.argsort(order[known], kind="stable")][:3].tolist()
            ],
        }
        for title, order in orders.items()
        if len(known)
    ]
