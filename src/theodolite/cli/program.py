"""All commands of ``theodolite``; those of other packages come last."""

from functools import cache
from typing import Annotated

import typer

from theodolite.cli.groups import Command, Commands, LazyGroup, SubGroup, new_program, summaries
from theodolite.cli.package_commands import package_commands

START: Commands = {
    "demo": Command("demo:demo", "Audit a small digit classifier and write its report"),
    "audit": Command("audit:audit", "Audit an explanation: concepts, attributions, maps, ratings"),
    "report": Command("folders:report", "Build the HTML report of a run again"),
    "doctor": Command("doctor:doctor", "Show which optional packages are installed"),
}
DECIDE: Commands = {
    "compare": Command("compare:compare", "Test whether one run is better than another"),
    "gate": Command("gate:gate", "Fail (exit code 6) if a run is below your thresholds"),
    "leaderboard": Command("compare:leaderboard", "Rank runs on the same samples in one table"),
    "plan": Command("plan:plan", "Compute the sample size to detect a difference"),
}
SHARE: Commands = {
    "export": Command("export:export", "Write a dossier, model card, LaTeX or JSON"),
    "sign": Command("folders:sign", "Sign a dossier with your SSH key"),
    "verify": Command("folders:verify", "Check that a run folder or dossier is unchanged"),
}
MAKE: Commands = {
    "run": Command("run:run", "Run a spec: compute evidence, score it, write a report"),
    "explain": Command("explain:explain", "Write saliency maps of images"),
    "dissect": Command("run:dissect", "Find the concepts that the units of a layer detect"),
    "sae": SubGroup(
        {
            "audit": Command(
                "sae_audit:sae_audit", "Audit a sparse autoencoder of a language model"
            ),
            "dissect": Command("sae_dissect:sae_dissect", "Find the concepts that latents detect"),
            "explain": Command("sae_judge:sae_explain", "Ask a model what latents stand for"),
            "judge": Command("sae_judge:sae_judge", "Ask a model when latents are active"),
            "dashboard": Command("sae_dashboard:sae_dashboard", "Write pages of an SAE's latents"),
        },
        "Audit, dissect and show sparse autoencoders (SAEs)",
    ),
    "data": SubGroup(
        {
            "list": Command("data:data_list", "List the data sets that specs can name"),
            "info": Command("data:data_info", "Show the page and the options of a data set"),
            "get": Command("data:data_get", "Download a data set and check its digests"),
            "check": Command("data:data_check", "Check a data set and show its contents"),
            "example": Command("data:data_example", "Write a small data set of drawn shapes"),
            "store": Command("data:data_store", "Store evidence in shards, for audits of any size"),
            "commit": Command("data:data_commit", "Commit all finished parts as one bundle"),
            "keys": Command("data:data_keys", "Write a new key that signs checkpoints"),
        },
        "Get and check data sets, and store evidence",
    ),
    "models": SubGroup(
        {
            "list": Command("models:models_list", "List the models of the shelf"),
            "info": Command("models:models_info", "Show the card of a model"),
            "train": Command("models:models_train", "Train a model of the shelf"),
        },
        "List and train the models of the model shelf",
    ),
}
LOOK_UP: Commands = {
    "metrics": SubGroup(
        {
            "list": Command("metrics:metrics_list", "List the metrics"),
            "show": Command("metrics:metrics_show", "Show the card of a metric"),
            "validate": Command(
                "validate:metrics_validate", "Test a metric on data with a planted effect"
            ),
        },
        "List, show and validate metrics",
        default="show",
    ),
    "evidence": Command("evidence:evidence", "List the kinds of evidence, or the arrays of one"),
}
MORE = {"Share": SHARE, "Make": MAKE, "Look up": LOOK_UP}
OTHERS = {"study": "Share", "papers": "Papers"}
"""Where commands of packages of this project are listed."""

app = new_program(
    "Test whether you can rely on an explanation of a model",
    name="theodolite",
    no_args_is_help=True,
)


def _version(value: bool) -> None:
    if value:
        from theodolite import __version__

        typer.echo(f"theodolite {__version__}")
        raise typer.Exit


@app.callback()
def _start(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version")
    ] = False,
) -> None:
    pass


@cache
def program() -> LazyGroup:
    """Return all commands, ready to be called."""
    ours = START | DECIDE | SHARE | MAKE | LOOK_UP
    packages = package_commands(ours)
    sections = {
        "Start": summaries(START),
        "Decide": summaries(DECIDE),
        "More commands (theodolite COMMAND --help)": _more(packages.installed),
    }
    loaders = {name: entry.load for name, entry in ours.items()} | packages.loaders
    return LazyGroup.of(app, loaders, sections)


def _more(installed: list[str]) -> dict[str, str]:
    names = {topic: list(entries) for topic, entries in MORE.items()}
    for name in dict.fromkeys(["study", *installed]):
        names.setdefault(OTHERS.get(name, "Packages"), []).append(name)
    return {topic: ", ".join(inside) for topic, inside in names.items()}
