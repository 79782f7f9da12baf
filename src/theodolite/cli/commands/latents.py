"""The command for a dictionary of a language model."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from theodolite._storage.atomic import default_cache
from theodolite.cli.options import Cache, Overwrite, Quiet, chosen_engine


def latents(
    model: Annotated[
        Path,
        typer.Argument(
            help="A folder of transformers (config.json, weights in safetensors, tokenizer) or a "
            ".gguf file. Nothing is fetched.",
            show_default=False,
        ),
    ],
    module: Annotated[
        str, typer.Option(help="The module whose output is explained, such as model.layers.5.")
    ],
    texts: Annotated[
        Path,
        typer.Option(
            help="A .csv or .jsonl file with a column of texts, and a column of 1, 0 or nothing "
            "for each concept."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The run folder to write.")],
    dictionary: Annotated[
        Path | None,
        typer.Option(help="A folder that SAELens wrote; else a small dictionary is trained."),
    ] = None,
    concepts: Annotated[
        str | None,
        typer.Option(help="Columns of concepts, with commas; else all that hold 0 and 1 alone."),
    ] = None,
    text_column: Annotated[str, typer.Option(help="The column of texts.")] = "text",
    document_column: Annotated[
        str, typer.Option(help="If there is such a column: the document that a text is from.")
    ] = "document",
    start_token: Annotated[
        str | None, typer.Option(help="Put before every text; else the tokenizer's own.")
    ] = None,
    most_tokens: Annotated[int, typer.Option(help="Tokens of a text.", min=2)] = 128,
    latents: Annotated[
        int | None,
        typer.Option(
            help="Of a dictionary that is trained; else twice as many as dimensions.", min=2
        ),
    ] = None,
    active: Annotated[
        int | None, typer.Option(help="Of them at a token; else one of 72.", min=1)
    ] = None,
    steps: Annotated[int, typer.Option(help="Of training, of 256 tokens each.", min=1)] = 1000,
    random_dictionaries: Annotated[
        int, typer.Option(help="Random dictionaries to beat.", min=0)
    ] = 20,
    spliced_sequences: Annotated[
        int, typer.Option(help="Texts for which the next token is predicted anew.", min=1)
    ] = 32,
    seed: Annotated[int, typer.Option(help="Of training, chance and intervals.", min=0)] = 0,
    resamples: Annotated[int, typer.Option(help="For intervals.", min=0, max=100_000)] = 300,
    cache: Cache = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Find out whether a dictionary of a language model tells concepts, and rebuilds what matters:
    beside random directions, neurons and the same network untrained."""
    from theodolite._runs.folder.spec import RunSpec
    from theodolite._runs.inputs import Places
    from theodolite.cli.commands.run import run_spec

    data, places = _below_one_folder([model, texts, *([dictionary] if dictionary else [])])
    pipeline: dict[str, Any] = {
        "name": "language_features", "model": places[0], "module": module,
        "start_token": start_token, "most_tokens": most_tokens, "latents": latents,
        "active": active, "steps": steps, "random_dictionaries": random_dictionaries,
        "spliced_sequences": spliced_sequences,
    }  # fmt: skip
    if dictionary:
        pipeline["dictionary"] = places[2]
    names = None if concepts is None else [name.strip() for name in concepts.split(",")]
    columns = {"text_column": text_column, "document_column": document_column, "concepts": names}
    spec = RunSpec.model_validate(
        {
            "name": "latents",
            "title": f"Do the latents of a dictionary of {model.resolve().stem} tell concepts?",
            "dataset": {"name": "text_table", "path": places[1], **columns},
            "pipeline": pipeline,
            "seeds": [seed],
            "resampling": {"resamples": resamples, "seed": seed},
        }
    )
    at = Places(data, out, cache or default_cache())
    engine = chosen_engine("local", 1, None, None, "auto")
    run_spec(spec, at, engine, overwrite=overwrite, dry_run=False, quiet=quiet)


def _below_one_folder(paths: list[Path]) -> tuple[Path, list[str]]:
    """A folder that all of them are in, and where in it."""
    from theodolite.errors import UnsafeInputError

    for path in paths:
        if not path.exists():
            raise UnsafeInputError(
                f"{str(path)!r}", "nothing there", "a file or folder of this machine"
            )
    full = [path.resolve() for path in paths]
    data = Path(os.path.commonpath([path.parent for path in full]))
    return data, [path.relative_to(data).as_posix() for path in full]
