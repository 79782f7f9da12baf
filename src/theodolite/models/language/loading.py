"""Language models from files on this machine: folders of transformers, and GGUF."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from theodolite.errors import EvidenceError, RefusedInput
from theodolite.io.optional import require
from theodolite.io.paths import size_within

MAX_BYTES = 1 << 36
GGUF = ".gguf"


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model and its tokenizer."""

    model: Any
    tokenizer: Any

    def start(self, token: str | None = None) -> int:
        """The id of the start token: the one named, else that which the tokenizer has."""
        number = self.tokenizer.bos_token_id
        if token is not None:
            number = self.tokenizer.convert_tokens_to_ids(token)
        unknown = number == self.tokenizer.unk_token_id and token != self.tokenizer.unk_token
        if number is None or (token is not None and unknown):
            got = "none" if token is None else repr(token)
            raise EvidenceError("start token", got, "a token of the vocabulary")
        return int(number)


def load_language_model(path: Path) -> LoadedModel:
    """A folder with ``config.json``, weights in safetensors and a tokenizer, or a .gguf file.

    Nothing is asked of a hub, and no code of the folder is run.
    """
    transformers = require("transformers", "language models", "language")
    folder, options = path, {}
    if path.suffix == GGUF:
        require("gguf", "models in GGUF", "language")
        size_within(path, MAX_BYTES, "language model")
        folder, options = path.parent, {"gguf_file": path.name}
    elif not (path / "config.json").is_file():
        needed = "a folder with config.json, or a .gguf file"
        raise RefusedInput(f"language model {path.name!r}", "neither", needed)
    plain = {"local_files_only": True, "trust_remote_code": False, **options}
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **plain)
    weights = {} if options else {"use_safetensors": True}
    try:
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, **plain, **weights)
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).splitlines()[0][:200]
        raise RefusedInput(f"language model {path.name!r}", reason, "a causal model") from error
    return LoadedModel(model.eval(), tokenizer)


def untrained(model: Any, seed: int) -> Any:
    """A copy whose matrices are drawn anew, each with its own mean and spread."""
    import copy  # noqa: PLC0415

    import torch  # noqa: PLC0415  an extra

    other = copy.deepcopy(model)
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in other.parameters():
            if parameter.ndim > 1:
                draws = torch.randn(parameter.shape, generator=random)
                spread, mean = parameter.float().std(), parameter.float().mean()
                parameter.copy_((draws * spread + mean).to(parameter.dtype))
    return other
