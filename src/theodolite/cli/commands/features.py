"""The command that writes pages of the features of a language model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from theodolite.evidence.kinds.judgment import JudgmentEvidence
    from theodolite.evidence.shards import Shards

COMPARED = {
    "random": "random directions",
    "frozen_decoder": "random directions, encoder trained",
    "untrained": "a dictionary of the untrained network",
}
"""What a run compares with its dictionary that a feature should beat, and how a page calls it."""


def features(
    evidence: Annotated[
        Path,
        typer.Argument(
            help="Stored token evidence with sparse codes, or a run folder: what the run compared "
            "with its dictionary is then held against it."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder to write; open its index.html.")],
    vocabulary: Annotated[
        Path | None,
        typer.Option(help="The folder with vocabulary.safetensors; else that of the evidence."),
    ] = None,
    tokenizer: Annotated[
        Path | None,
        typer.Option(help="In place of it, a tokenizer.json or the folder of a model that has it."),
    ] = None,
    beside: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=EVIDENCE",
            help="Codes that know nothing of the network, on the same texts, such as 'random "
            "directions=FOLDER'; give it again for more.",
        ),
    ] = None,
    explanations: Annotated[
        Path | None, typer.Option(help="The folder with explanations.parquet.")
    ] = None,
    judgments: Annotated[
        Path | None, typer.Option(help="Stored answers of judges about these latents.")
    ] = None,
    title: Annotated[str, typer.Option(help="Of the dictionary.")] = "A dictionary of features",
    strongest: Annotated[int, typer.Option(help="Strongest contexts of a feature.")] = 20,
    per_tenth: Annotated[int, typer.Option(help="Contexts from each tenth of its values.")] = 2,
    width: Annotated[int, typer.Option(help="Tokens of a context.")] = 32,
    seed: Annotated[int, typer.Option(help="Of halves and draws.")] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace pages in OUT.")] = False,
) -> None:
    """Write pages of a dictionary and of each of its features, to be read without a server."""
    from theodolite.language.dashboard.pages import feature_pages
    from theodolite.language.texts.explanations import load_explanations
    from theodolite.language.texts.tokenizer_file import read_vocabulary
    from theodolite.language.texts.vocabulary import Vocabulary

    place, compared = _of_run(evidence)
    tokens = _tokens(place)
    words = (
        Vocabulary.load(vocabulary or place) if tokenizer is None else read_vocabulary(tokenizer)
    )
    page = feature_pages(
        tokens,
        words,
        out,
        beside=compared | dict(_parse_beside(pair) for pair in beside or ()),
        explanations=() if explanations is None else load_explanations(explanations),
        judgments=None if judgments is None else _judgments(judgments),
        title=title,
        strongest=strongest,
        per_tenth=per_tenth,
        width=width,
        seed=seed,
        overwrite=overwrite,
    )
    size = sum(path.stat().st_size for path in page.parent.rglob("*") if path.is_file())
    typer.echo(f"page: {page} ({size / 1e6:,.1f} MB with what lies beside it)")


def _of_run(folder: Path) -> "tuple[Path, dict[str, Shards]]":
    """Where the token evidence is; of a run folder, also what knows nothing of the network."""
    if not (folder / "run.json").is_file():
        return folder, {}
    from theodolite.errors import EvidenceError

    own = sorted((folder / "evidence").glob("seed-*/token"))
    if not own:
        raise EvidenceError(f"run {folder.name!r}", "no token evidence", "a run about latents")
    places = {
        says: folder / "compared" / name / own[0].parent.name / "token"
        for name, says in COMPARED.items()
    }
    return own[0], {says: _tokens(place) for says, place in places.items() if place.is_dir()}


def _tokens(folder: Path) -> "Shards":
    from theodolite.errors import EvidenceError
    from theodolite.evidence.files import load
    from theodolite.evidence.shards import InMemoryShards
    from theodolite.evidence.store import is_stored, stored

    if not folder.is_dir():
        raise EvidenceError(f"folder {str(folder)!r}", "nothing there", "stored evidence")
    return stored(folder) if is_stored(folder) else InMemoryShards(load(folder))


def _parse_beside(pair: str) -> "tuple[str, Shards]":
    from theodolite.errors import EvidenceError

    name, equals, folder = pair.partition("=")
    if not (name.strip() and equals and folder):
        raise EvidenceError("--beside", repr(pair), "NAME=EVIDENCE")
    return name.strip(), _tokens(Path(folder))


def _judgments(folder: Path) -> "JudgmentEvidence":
    from theodolite.errors import EvidenceError
    from theodolite.evidence.files import load
    from theodolite.evidence.kinds.judgment import JudgmentEvidence

    answers = load(folder)
    if not isinstance(answers, JudgmentEvidence):
        raise EvidenceError("--judgments", answers.kind, "answers of judges")
    return answers
