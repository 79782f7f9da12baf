"""Read a dictionary from files of any of the formats; see ``read_dictionary``."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal, get_args

from theodolite.errors import UnsafeInputError
from theodolite.language.dictionaries import (
    circuit_tracer,
    dictionary_learning,
    gemma_scope,
    sae_lens,
    sparsify,
)
from theodolite.language.dictionaries.common_form import SparseDictionary

Kind = Literal["sae_lens", "sparsify", "dictionary_learning", "gemma_scope", "circuit_tracer"]
READERS: dict[Kind, Callable[[Path], SparseDictionary]] = {
    "sae_lens": sae_lens.read_sae_lens_folder,
    "sparsify": sparsify.read_sparsify,
    "dictionary_learning": dictionary_learning.read_dictionary_learning,
    "gemma_scope": gemma_scope.read_gemma_scope,
    "circuit_tracer": circuit_tracer.read_circuit_tracer,
}
FILES: dict[str, Kind] = {
    sae_lens.WEIGHTS: "sae_lens",
    sparsify.WEIGHTS: "sparsify",
    dictionary_learning.WEIGHTS: "dictionary_learning",
    gemma_scope.NUMBERS: "gemma_scope",
    gemma_scope.TENSORS: "gemma_scope",
}
"""File that shows each format."""


def read_dictionary(path: Path | str, kind: Kind | None = None) -> SparseDictionary:
    """Read an autoencoder or transcoder of a language model; nothing is downloaded.

    Args:
        path: Folder of SAELens, sparsify, dictionary_learning or Gemma Scope, or a file
            ``layer_N.safetensors`` of circuit-tracer.
        kind: Format; by default it is told from the files.
    """
    path = Path(path)
    if kind is None:
        kind = _find_kind(path)
    elif kind not in READERS:
        raise UnsafeInputError("kind", repr(kind)[:80], f"one of {', '.join(get_args(Kind))}")
    return READERS[kind](path)


def _find_kind(path: Path) -> Kind:
    if path.is_file() and circuit_tracer.LAYER.fullmatch(path.name):
        return "circuit_tracer"
    kinds = [kind for file, kind in FILES.items() if (path / file).is_file()]
    if kinds:
        return kinds[0]
    what = f"dictionary {path.name!r}"
    if path.is_dir() and any(path.glob("W_enc_*.safetensors")):
        raise UnsafeInputError(what, "a cross-layer transcoder", "one that writes to one layer")
    got = "no file of a format" if path.is_dir() else "nothing there"
    needed = f"a folder with {', '.join(FILES)}, or a file layer_N.safetensors"
    raise UnsafeInputError(what, got, needed)
