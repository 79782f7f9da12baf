"""Cross-validated linear probe: does it classify each image correctly without having seen it?"""

import warnings

import numpy as np
from jaxtyping import Bool, Int

from theodolite.pipelines.feature_pass import FeaturePass

FOLDS = 5


def find_correctly_classified(
    maps: FeaturePass, labels: Int[np.ndarray, " n"] | None, seed: int
) -> Bool[np.ndarray, " n"] | None:
    """Return which images a ridge classifier of the other folds classifies correctly."""
    from sklearn.linear_model import RidgeClassifier  # noqa: PLC0415
    from sklearn.model_selection import StratifiedKFold, cross_val_predict  # noqa: PLC0415
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

    if labels is None or len(np.unique(labels)) < 2 or np.bincount(labels).max() < FOLDS:
        return None
    pooled = maps.pooled().astype(np.float64)
    model = make_pipeline(StandardScaler(), RidgeClassifier(alpha=pooled.shape[1]))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # classes with fewer images than folds
        predicted = cross_val_predict(model, pooled, labels, cv=folds)
    return np.asarray(predicted == labels)
