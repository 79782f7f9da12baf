"""The commands that have latents explained by a language model, and explanations judged by one."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer

import theodolite
from theodolite.cli.commands.sae_dashboard import open_tokens
from theodolite.cli.options import argument, option
from theodolite.errors import EvidenceError
from theodolite.evidence.files import save
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.shards import InMemoryShards
from theodolite.language.judges import (
    AnswerCache,
    Budget,
    HttpJudge,
    LatentQuestions,
    LatentTexts,
    QuestionMaker,
    explain_latents,
    read_batch,
    write_batch,
)
from theodolite.language.judges.explainer import draw_explanation_questions
from theodolite.language.texts.explanations import (
    LatentExplanation,
    load_explanations,
    save_explanations,
)
from theodolite.language.texts.tokenizer_file import read_vocabulary
from theodolite.language.texts.vocabulary import Vocabulary

Kind = Literal["detection", "windows", "fuzzing", "intruder"]
SCORES: dict[Kind, str] = {
    "detection": "judge_detection", "windows": "judge_detection", "fuzzing": "judge_fuzzing",
    "intruder": "judge_intruder",
}  # fmt: skip

Tokens = Annotated[Path, argument("Stored token evidence with activations, or a run folder")]
OutFolder = Annotated[Path, option("Folder to write; answers are kept in it as they come")]
Address = Annotated[str, option("Base address of an OpenAI-compatible server")]
Model = Annotated[str, option("Name of the model at that address")]
KeyVariable = Annotated[str, option("Environment variable with the key")]
Tokenizer = Annotated[Path | None, option("tokenizer.json, or a model's folder, as vocabulary")]
Many = Annotated[int, option("Number of latents, drawn by the seed", min=1)]
Workers = Annotated[int, option("Requests at the same time", min=1, max=64)]
Most = Annotated[int, option("Tokens of a reply, thoughts included", min=1)]
Effort = Annotated[str, option("Effort of a model that reasons, such as low")]
Money = Annotated[float | None, option("Largest price. Default: no limit", min=0)]
PriceIn = Annotated[float, option("Price of a million tokens sent", min=0)]
PriceOut = Annotated[float, option("Price of a million tokens received", min=0)]
WriteBatch = Annotated[Path | None, option("Write a batch file instead of asking")]
ReadBatch = Annotated[Path | None, option("Read the answers of a batch file first")]
Seed = Annotated[int, option("Random seed", min=0)]


def sae_explain(
    evidence: Tokens,
    out: OutFolder,
    address: Address,
    model: Model,
    key_variable: KeyVariable = "",
    tokenizer: Tokenizer = None,
    latents: Many = 50,
    texts: Annotated[int, option("Strongest texts that the model reads", min=1, max=50)] = 10,
    workers: Workers = 8,
    most_tokens: Most = 200,
    reasoning_effort: Effort = "",
    budget: Money = None,
    price_in: PriceIn = 0.0,
    price_out: PriceOut = 0.0,
    write_batch_to: WriteBatch = None,
    read_batch_from: ReadBatch = None,
    seed: Seed = 0,
) -> None:
    """Ask a model what latents stand for, and write explanations.parquet.

    It reads texts of one half; `theodolite sae judge` asks about the other half. A command that was
    killed resumes when it is given again.
    """
    judge = HttpJudge(
        address, model, key_variable, workers=workers, most_tokens=most_tokens,
        reasoning_effort=reasoning_effort,
    )  # fmt: skip
    source = _open(evidence, tokenizer)
    some, cache = source.latents_to_ask(latents, seed=seed), _cache(out)
    questions = draw_explanation_questions(source, some, texts)
    if _batched(judge, LatentQuestions(questions), cache, write_batch_to, read_batch_from):
        return
    results = explain_latents(
        judge, source, some, texts=texts, cache=cache,
        budget=_budget(budget, price_in, price_out),
    )  # fmt: skip
    save_explanations(results, out)
    typer.echo(
        f"explanations: {out / 'explanations.parquet'} ({len(results)} of {len(questions)} read)"
    )


def sae_judge(
    evidence: Tokens,
    out: OutFolder,
    address: Address,
    model: Model,
    kind: Annotated[Kind, option("Question; windows is detection in SAEBench's form")],
    explanations: Annotated[Path | None, option("Folder with explanations.parquet")] = None,
    key_variable: KeyVariable = "",
    tokenizer: Tokenizer = None,
    latents: Many = 50,
    texts: Annotated[int, option("Texts with the latent in a question", min=1, max=50)] = 10,
    workers: Workers = 8,
    most_tokens: Most = 200,
    reasoning_effort: Effort = "",
    budget: Money = None,
    price_in: PriceIn = 0.0,
    price_out: PriceOut = 0.0,
    write_batch_to: WriteBatch = None,
    read_batch_from: ReadBatch = None,
    seed: Seed = 0,
) -> None:
    """Ask a model in which texts, or on which tokens, latents are active.

    It is compared with judges who say the same of every text or know keywords alone, and asked the
    same questions with the explanation of another latent. A command that was killed resumes where
    it was when it is given again.
    """
    judge = HttpJudge(
        address, model, key_variable, workers=workers, most_tokens=most_tokens,
        reasoning_effort=reasoning_effort,
    )  # fmt: skip
    source, cache = _open(evidence, tokenizer), _cache(out)
    written = _explanations(explanations, kind)
    explained = {latent: own.text for latent, own in written.items()}
    some = [own for own in source.latents_to_ask(len(source.evidence.latents), seed=seed)
            if kind == "intruder" or own in explained][:latents]  # fmt: skip
    questions = _questions(QuestionMaker(source, explained, each=texts, seed=seed), kind, some)
    both = questions if kind == "intruder" else with_others(questions, explained, source.frequency)
    both = with_sources(both, written, source)
    if _batched(judge, both, cache, write_batch_to, read_batch_from):
        return
    answers = both.answered(judge, source, cache, _budget(budget, price_in, price_out))
    floor = questions.answered(source.keyword_judge(some), source)
    for name, own in (("judgments", answers), ("keyword", floor)):
        save(own, out / name)
    score = theodolite.score(SCORES[kind], floor)
    typer.echo(str(theodolite.audit(answers)))
    typer.echo(f"a judge of keywords, without explanations: {score.value:.3f}")
    typer.echo(f"answers of judges: {out / 'judgments'}; `theodolite audit` takes them")


def with_others(
    questions: LatentQuestions, explained: dict[int, str], frequency: np.ndarray
) -> LatentQuestions:
    """Return the questions, and the same with the explanation of the latent that is most nearly as
    often active."""
    others = []
    for question in questions.questions:
        free = [latent for latent, text in explained.items() if text != question.explanation]
        if not free:
            raise EvidenceError("explanations", "one text for all latents", "two that differ")
        own = min(free, key=lambda n: (abs(frequency[n] - frequency[question.latent]), n))
        others.append(replace(question, explanation=explained[own], explained=own))
    return LatentQuestions([*questions.questions, *others], [*questions.active, *questions.active])


def with_sources(
    questions: LatentQuestions, written: dict[int, LatentExplanation], source: LatentTexts
) -> LatentQuestions:
    """Return the questions with what is known of the texts that explanations were written from."""
    samples = source.evidence.samples
    ids = np.asarray(samples.index if samples.ids is None else samples.ids)
    marked = []
    for question in questions.questions:
        latent = question.latent if question.explained is None else question.explained
        made_from = written[latent].made_from if latent in written else None
        known = (
            () if made_from is None else tuple(str(ids[n]) in made_from for n in question.sequences)
        )
        marked.append(replace(question, written_from=known))
    return LatentQuestions(marked, questions.active)


def _open(place: Path, tokenizer: Path | None) -> LatentTexts:
    shards, folder = open_tokens(place)
    if not isinstance(shards, InMemoryShards) or not isinstance(shards.whole, TokenEvidence):
        raise EvidenceError(f"{place.name!r}", "evidence in shards", "one bundle")
    words = Vocabulary.load(folder) if tokenizer is None else read_vocabulary(tokenizer)
    return LatentTexts(shards.whole, words)


def _cache(out: Path) -> AnswerCache:
    out.mkdir(parents=True, exist_ok=True)
    return AnswerCache(out / "answers.parquet")


def _budget(money: float | None, price_in: float, price_out: float) -> Budget:
    if money is None:
        return Budget(price_in=price_in, price_out=price_out)
    if not price_in and not price_out:
        raise EvidenceError("--budget", "no price", "`--price-in` and `--price-out`")
    return Budget(money=money, price_in=price_in, price_out=price_out)


def _explanations(folder: Path | None, kind: Kind) -> dict[int, LatentExplanation]:
    if folder is None:
        if kind != "intruder":
            do = "Write them with `theodolite sae explain`."
            raise EvidenceError("--explanations", "none", f"a folder, for {kind}", do)
        return {}
    return {own.latent: own for own in load_explanations(folder) if own.text}


def _questions(maker: QuestionMaker, kind: Kind, latents: Sequence[int]) -> LatentQuestions:
    questions: LatentQuestions = getattr(maker, kind)(latents)
    if not questions.questions:
        got = f"{len(latents)} latents with texts of both kinds"
        raise EvidenceError("latents", got, "explained latents that are active in some texts")
    return questions


def _batched(
    judge: HttpJudge,
    questions: LatentQuestions,
    cache: AnswerCache,
    to: Path | None,
    of: Path | None,
) -> bool:
    """Write or read a batch file; return whether that is all that is to be done."""
    if of is not None:
        n = read_batch(judge, questions.questions, of, cache)
        typer.echo(f"answers: {n:,} new of {of.name}")
    if to is not None:
        n = write_batch(judge, questions.questions, to, cache)
        typer.echo(f"batch: {to} ({n:,} questions)")
    return to is not None
