"""Exchange data with other libraries, one module each; each loads on first use."""

from typing import TYPE_CHECKING

from theodolite._storage.lazy import lazy_getattr, lazy_names

__all__ = [
    "captum",
    "hugging_face",
    "lime",
    "mlflow",
    "quantus",
    "sae_lens",
    "shap",
    "torchmetrics",
    "wandb",
]

if TYPE_CHECKING:
    from theodolite.bridges import (
        captum,
        hugging_face,
        lime,
        mlflow,
        quantus,
        sae_lens,
        shap,
        torchmetrics,
        wandb,
    )
else:
    HOMES = lazy_names("theodolite.bridges", {name: name for name in __all__})
    __getattr__ = lazy_getattr(__name__, HOMES)


def __dir__() -> list[str]:
    return __all__
