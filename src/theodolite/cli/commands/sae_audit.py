"""The command that audits a sparse autoencoder (SAE) of a language model."""

from pathlib import Path
from typing import Annotated, Any

from theodolite._runs.engine.worker_choice import Engine
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.run_inputs import RunPaths
from theodolite._storage.cache_folder import get_default_cache
from theodolite.cli import options as opt
from theodolite.cli.commands.run import run_spec
from theodolite.cli.options import argument, option
from theodolite.errors import UnsafeInputError


def sae_audit(
    model: Annotated[Path, argument("Folder of transformers, or a .gguf file")],
    module: Annotated[str, option("Module to explain, such as model.layers.5")],
    texts: Annotated[Path, option("Texts, 0/1 columns of concepts (.csv, .jsonl, .parquet)")],
    out: opt.Out,
    sae: Annotated[
        Path | None, option("Folder or file of an SAE. Default: train a small one")
    ] = None,
    sae_format: Annotated[
        str | None, option("Format of the SAE. Default: detected from its files")
    ] = None,
    concepts: Annotated[
        str | None, option("Columns of concepts, with commas. Default: all of 0 and 1")
    ] = None,
    text_column: Annotated[str, option("Column of texts")] = "text",
    document_column: Annotated[str, option("Column of documents, if present")] = "document",
    start_token: Annotated[
        str | None, option("Token before every text. Default: the tokenizer's")
    ] = None,
    max_tokens: Annotated[int, option("Tokens per text", min=2)] = 128,
    latents: Annotated[
        int | None, option("Latents of a trained SAE. Default: 2 per dimension", min=2)
    ] = None,
    active: Annotated[
        int | None, option("Active latents per token. Default: 1 in 72", min=1)
    ] = None,
    steps: Annotated[int, option("Training steps of 256 tokens", min=1)] = 1000,
    random_dictionaries: Annotated[int, option("Random SAEs to compare with", min=0)] = 20,
    spliced_sequences: Annotated[
        int, option("Texts whose next tokens are predicted with the SAE", min=1)
    ] = 32,
    null_texts: Annotated[
        int, option("Number of texts for concept scores of SAE and random SAEs", min=16)
    ] = 1000,
    device: Annotated[str, option("Device: cpu, cuda, cuda:N, mps or auto")] = "cpu",
    dtype: Annotated[str, option("Type of weights: float32, bfloat16 or float16")] = "float32",
    allow_other_place: Annotated[
        bool, option("Continue where the SAE names another location")
    ] = False,
    causal: Annotated[bool, option("Ablate and steer the best latent of each concept")] = False,
    pages: Annotated[bool, option("Write a page of each latent")] = True,
    exploratory: Annotated[bool, option("Continue with too little data for a verdict")] = False,
    seed: opt.Seed = 0,
    resamples: opt.Resamples = 300,
    cache: opt.Cache = None,
    overwrite: opt.Overwrite = False,
    quiet: opt.Quiet = False,
) -> None:
    """Audit a sparse autoencoder of a language model.

    Its latents are compared with random directions, neurons and an SAE of the untrained model. The
    model's folder holds config.json, weights in safetensors and a tokenizer; nothing is downloaded.
    """
    for path in (model, texts, sae):
        if path is not None and not path.exists():
            raise UnsafeInputError(f"{str(path)!r}", "nothing there", "a local file or folder")
    root, places = opt.below_one_folder(model, texts, sae)
    pipeline: dict[str, Any] = {
        "name": "language_features", "model": places[0], "module": module,
        "start_token": start_token, "most_tokens": max_tokens, "latents": latents,
        "active": active, "steps": steps, "random_dictionaries": random_dictionaries,
        "spliced_sequences": spliced_sequences, "null_texts": null_texts, "device": device,
        "dtype": dtype, "allow_other_place": allow_other_place, "exploratory": exploratory,
        "causal": causal, "pages": pages,
    }  # fmt: skip
    if sae:
        pipeline |= {"dictionary": places[2], "dictionary_kind": sae_format}
    names = None if concepts is None else [name.strip() for name in concepts.split(",")]
    columns = {"text_column": text_column, "document_column": document_column, "concepts": names}
    spec = RunSpec.model_validate(
        {
            "name": "latents",
            "title": f"Do SAE latents of {model.resolve().stem} detect concepts?",
            "dataset": {"name": "text_table", "path": places[1], **columns},
            "pipeline": pipeline,
            "seeds": [seed],
            "resampling": {"resamples": resamples, "seed": seed},
        }
    )
    at = RunPaths(root, out, cache or get_default_cache())
    run_spec(spec, at, Engine("local", workers=1), overwrite=overwrite, dry_run=False, quiet=quiet)
