"""The command that writes pages of the latents of a sparse autoencoder (SAE)."""

from pathlib import Path
from typing import Annotated, Any

import typer

from theodolite._storage.tables import read_parquet
from theodolite.cli.options import argument, check_there, option
from theodolite.errors import EvidenceError
from theodolite.evidence.files import load
from theodolite.evidence.kinds.judgment import JudgmentEvidence
from theodolite.evidence.shards import InMemoryShards, Shards
from theodolite.evidence.store import is_stored, stored
from theodolite.language.dashboard.pages import feature_pages
from theodolite.language.dashboard.run_pages import COMPARED, PAGE_TABLES, read_page_tables
from theodolite.language.texts.explanations import load_explanations
from theodolite.language.texts.tokenizer_file import read_vocabulary
from theodolite.language.texts.vocabulary import Vocabulary


def sae_dashboard(
    evidence: Annotated[Path, argument("Stored token evidence with activations, or a run folder")],
    out: Annotated[Path, option("Folder to write; open its index.html")],
    vocabulary: Annotated[
        Path | None, option("Folder with vocabulary.safetensors. Default: EVIDENCE")
    ] = None,
    tokenizer: Annotated[
        Path | None, option("tokenizer.json, or a model's folder, as vocabulary")
    ] = None,
    beside: Annotated[
        list[str] | None,
        option("Baseline activations on the same texts; repeatable", metavar="NAME=EVIDENCE"),
    ] = None,
    explanations: Annotated[Path | None, option("Folder with explanations.parquet")] = None,
    judgments: Annotated[Path | None, option("Stored answers of judges on the latents")] = None,
    title: Annotated[str, option("Title of the pages")] = "Latents of an SAE",
    strongest: Annotated[int, option("Strongest contexts per latent")] = 20,
    per_tenth: Annotated[int, option("Contexts per decile of activation")] = 2,
    width: Annotated[int, option("Tokens per context")] = 32,
    seed: Annotated[int, option("Random seed")] = 0,
    overwrite: Annotated[bool, option("Replace pages in OUT", "--overwrite")] = False,
) -> None:
    """Write pages of an SAE and of each of its latents, to be read without a server.

    Of a run folder, the baselines, effects and logits that are in it are shown as well.
    """
    place, compared = _evidence_and_baselines(evidence)
    options = read_page_tables(_tables(evidence))
    if explanations is not None:
        options["explanations"] = load_explanations(explanations)
    page = feature_pages(
        _tokens(place),
        Vocabulary.load(vocabulary or place) if tokenizer is None else read_vocabulary(tokenizer),
        out,
        beside=compared | dict(_parse_beside(pair) for pair in beside or ()),
        judgments=None if judgments is None else _judgments(judgments),
        title=title,
        strongest=strongest,
        per_tenth=per_tenth,
        width=width,
        seed=seed,
        overwrite=overwrite,
        **options,
    )
    size = sum(path.stat().st_size for path in page.parent.rglob("*") if path.is_file())
    typer.echo(f"page: {page} ({size / 1e6:,.1f} MB in total)")


def open_tokens(folder: Path) -> tuple[Shards, Path]:
    """Return stored token evidence, or that of a run folder, and where it is."""
    place = _evidence_and_baselines(folder)[0]
    return _tokens(place), place


def _evidence_and_baselines(folder: Path) -> tuple[Path, dict[str, Shards]]:
    if not (folder / "run.json").is_file():
        return folder, {}
    own = sorted((folder / "evidence").glob("seed-*/token"))
    if not own:
        raise EvidenceError(f"run {folder.name!r}", "no token evidence", "a run about latents")
    places = {
        says: folder / "compared" / name / own[0].parent.name / "token"
        for name, says in COMPARED.items()
    }
    return own[0], {says: _tokens(place) for says, place in places.items() if place.is_dir()}


def _tables(folder: Path) -> dict[str, dict[str, list[Any]]]:
    return {
        path.stem: read_parquet(path)
        for path in sorted((folder / "tables").glob("*.parquet"))
        if path.stem in PAGE_TABLES
    }


def _tokens(folder: Path) -> Shards:
    check_there(folder)
    return stored(folder) if is_stored(folder) else InMemoryShards(load(folder))


def _parse_beside(pair: str) -> tuple[str, Shards]:
    name, equals, folder = pair.partition("=")
    if not (name.strip() and equals and folder):
        raise EvidenceError("--beside", repr(pair), "NAME=EVIDENCE")
    return name.strip(), _tokens(Path(folder))


def _judgments(folder: Path) -> JudgmentEvidence:
    answers = load(folder)
    if not isinstance(answers, JudgmentEvidence):
        raise EvidenceError("--judgments", answers.kind, "answers of judges")
    return answers
