"""Load language models from local files: transformers folders and GGUF."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from theodolite._storage.optional import require
from theodolite._storage.paths import size_within
from theodolite.errors import EvidenceError, UnsafeInputError

MAX_BYTES = 1 << 36
GGUF = ".gguf"


CAUSAL = ("ForCausalLM", "LMHeadModel")
"""Endings of architecture names that predict the next token."""


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """A language model and its tokenizer."""

    model: Any
    tokenizer: Any
    causal: bool = True
    """Whether it predicts the next token; encoders do not."""

    def start(self, token: str | None = None) -> int:
        """Return the id of the start token: the named one, the tokenizer's, or the separator."""
        own = self.tokenizer
        choices = (own.bos_token_id, own.cls_token_id, own.eos_token_id)
        number = next((choice for choice in choices if choice is not None), None)
        if token is not None:
            number = own.convert_tokens_to_ids(token)
        unknown = number == own.unk_token_id and token != own.unk_token
        if number is None or (token is not None and unknown):
            got = "none" if token is None else repr(token)
            raise EvidenceError("start token", got, "a token of the vocabulary")
        return int(number)

    def end(self) -> int | None:
        """Return the token that encoders put after a text, or None."""
        return None if self.causal else self.tokenizer.sep_token_id

    def check_fits(self, ids: Sequence[Sequence[int]]) -> None:
        """Raise if texts exceed the model's limits."""
        longest = max(len(own) for own in ids) + 1 + (self.end() is not None)
        most = getattr(self.model.config, "max_position_embeddings", None)
        if isinstance(most, int) and 0 < most < longest:
            got = f"{longest} tokens with those put around a text"
            do = "Cut them shorter (most_tokens)."
            raise EvidenceError("texts", got, f"at most {most}, the model's", do)
        vocabulary = self.model.get_input_embeddings().weight.shape[0]
        largest = max(max(own, default=0) for own in ids)
        if largest >= vocabulary:
            needed = f"below {vocabulary:,}, the model's vocabulary"
            raise EvidenceError("tokenizer", f"a token {largest:,}", needed)


def load_language_model(
    path: Path, *, device: str = "cpu", dtype: str = "float32"
) -> LanguageModel:
    """Load a folder with ``config.json``, safetensors and a tokenizer, or a .gguf file.

    Nothing is asked of a hub, and no code of the folder is run.
    """
    transformers = require("transformers", "language models", "language")
    torch = require("torch", "language models", "language")
    what, folder, options = f"language model {path.name!r}", path, {}
    if path.suffix == GGUF:
        require("gguf", "models in GGUF", "language")
        size_within(path, MAX_BYTES, "language model")
        folder, options = path.parent, {"gguf_file": path.name}
    elif not (path / "config.json").is_file():
        needed = "a folder with config.json, or a .gguf file"
        raise UnsafeInputError(what, "neither", needed)
    plain = {"local_files_only": True, "trust_remote_code": False, **options}
    weights = {} if options else {"use_safetensors": True}
    with _quiet(transformers):
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **plain)
        except Exception as error:  # whatever a broken folder makes of it
            raise UnsafeInputError(
                what, _reason(error), "a tokenizer in the same folder"
            ) from error
        try:
            causal = bool(options) or _is_causal(transformers, folder)
            auto = transformers.AutoModelForCausalLM if causal else transformers.AutoModel
            model = auto.from_pretrained(folder, **plain, **weights)
        except Exception as error:
            needed = "a model of transformers with weights in safetensors"
            raise UnsafeInputError(what, _reason(error), needed) from error
    return LanguageModel(model.to(device, getattr(torch, dtype)).eval(), tokenizer, causal)


def _reason(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:200]


def _is_causal(transformers: Any, folder: Path) -> bool:
    config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True)
    names = [str(name) for name in getattr(config, "architectures", None) or ()]
    reads_both_ways = type(config) in transformers.MODEL_FOR_MASKED_LM_MAPPING
    if reads_both_ways and not getattr(config, "is_decoder", False):
        return False
    return not names or any(name.endswith(CAUSAL) for name in names)


@contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """Silence progress bars and warnings of transformers, and restore them."""
    logging = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def randomize_weights(model: Any, seed: int) -> Any:
    """Return a copy whose matrices are redrawn with their own mean and spread."""
    import copy  # noqa: PLC0415

    import torch  # noqa: PLC0415  an extra

    other = copy.deepcopy(model)
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in other.parameters():
            if parameter.ndim > 1:
                draws = torch.randn(parameter.shape, generator=random).to(parameter.device)
                spread, mean = parameter.float().std(), parameter.float().mean()
                parameter.copy_((draws * spread + mean).to(parameter.dtype))
    return other
