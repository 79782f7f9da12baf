"""Registry of concept discovery methods; importing it loads neither torch nor scikit-learn."""

from collections.abc import Callable

from theodolite.explainers.discovery.concept_shap import ConceptShap
from theodolite.explainers.discovery.kmeans import KMeansConcepts
from theodolite.explainers.discovery.mcd import SubspaceConcepts
from theodolite.explainers.discovery.nmf import NmfConcepts
from theodolite.explainers.discovery.pca import PcaConcepts
from theodolite.explainers.discovery.protocol import Discovery
from theodolite.explainers.discovery.random_directions import RandomConcepts
from theodolite.explainers.discovery.sae import SparseAutoencoder
from theodolite.explainers.discovery.svd import SvdConcepts

METHODS: dict[str, Callable[..., Discovery]] = {
    "svd": SvdConcepts,
    "pca": PcaConcepts,
    "nmf": NmfConcepts,
    "craft": NmfConcepts,  # fitted on embeddings of patches instead of whole images
    "kmeans": KMeansConcepts,
    "random": RandomConcepts,
    "mcd": SubspaceConcepts,
    "concept_shap": ConceptShap,
    "sae": SparseAutoencoder,
}
