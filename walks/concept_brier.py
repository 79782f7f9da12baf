"""A metric in one file: how far concept scores, read as probabilities, are from the truth."""

import numpy as np

from theodolite import ext


@ext.metric("concept_brier", question="exists", better="lower", bounds=(0.0, 1.0))
def concept_brier(values, truth):
    """Mean squared error of concept predictions."""
    return ((np.clip(values, 0, 1) - truth) ** 2).mean(axis=1)  # one number per sample
