"""Floors of scores of judges: what judges that know nothing, or a few words, score on a trained
dictionary, a random one, and the trained one with whole texts' codes dealt out.

    python benchmarks/judge_floors.py LM_FEATURES [--latents 200] [--seed 0]

LM_FEATURES is a folder with codes.safetensors and vocabulary.safetensors: codes of two
dictionaries at every token of short texts. Prints a table in Markdown.
"""

import argparse
import time
from pathlib import Path

import numpy as np

import theodolite
from theodolite._storage.arrays import read_safetensors
from theodolite.evidence.axes import Latents
from theodolite.evidence.ragged import Ragged
from theodolite.language.judges import Budget, CoinJudge, ConstantJudge, FormulaJudge, Judge
from theodolite.language.judges.formula import WORD
from theodolite.language.judges.keyword import KeywordJudge
from theodolite.language.judges.latent_texts import LatentTexts, permute_codes
from theodolite.language.judges.questions import LatentQuestions, QuestionMaker, Wrong
from theodolite.language.texts.vocabulary import Vocabulary
from theodolite.metrics.language.judges import JudgeDetection, JudgeFuzzing, JudgeIntruder

WIDTH = 1152
LIMITS = Budget(most_questions=100_000, most_tokens=10**9)


def read_pack(
    folder: Path, seed: int = 0
) -> tuple[dict[str, theodolite.TokenEvidence], Vocabulary]:
    """Evidence of both dictionaries and of the trained one with texts' codes dealt out, and the
    bytes of the tokens that occur."""
    codes = read_safetensors(folder / "codes.safetensors")
    words = read_safetensors(folder / "vocabulary.safetensors")
    starts = codes["token_starts"].astype(np.int64)
    tokens = [b""] * (int(words["ids"].max()) + 1)
    content = words["bytes"].tobytes()
    for number, token in enumerate(words["ids"].tolist()):
        first, last = words["offsets"][number : number + 2].tolist()
        tokens[token] = content[first:last]
    evidence = {}
    for name in ("trained", "random"):
        inner = codes[f"{name}.active_starts"].astype(np.int64)
        latent, value = codes[f"{name}.latent"], codes[f"{name}.value"]
        evidence[name] = theodolite.TokenEvidence(
            tokens=Ragged(codes["tokens"].astype(np.int32), starts),
            latent=Ragged(latent.astype(np.int32), starts, inner),
            value=Ragged(value, starts, inner),
            latents=Latents(count=WIDTH),
        )
    evidence["trained, codes dealt out"] = permute_codes(evidence["trained"], seed)
    return evidence, Vocabulary.of(tokens)


def formulas(judge: KeywordJudge) -> dict[int, str]:
    """The words of each latent's keywords, one or another of them: as an explanation."""
    explained = {}
    for latent, words in judge.words.items():
        parts = dict.fromkeys(word for text in words for word in WORD.findall(text))
        plain = [word for word in parts if word not in ("(", ")") and not word.isupper()]
        explained[latent] = " OR ".join(plain) or "nothing-of-the-kind"
    return explained


def interval_cell(per_latent: np.ndarray) -> str:
    """The mean over latents with its interval over latents."""
    own = per_latent[~np.isnan(per_latent)]
    if not len(own):
        return "–"
    half = 1.96 * own.std(ddof=1) / np.sqrt(len(own))
    return f"{own.mean():.4f} [{own.mean() - half:.4f}, {own.mean() + half:.4f}]"


def cells(asked: dict[str, LatentQuestions], judge: Judge, source: LatentTexts) -> list[str]:
    """What a judge scores in each form."""
    texts = {
        name: own.answered(judge, source, budget=LIMITS)
        for name, own in asked.items()
        if not (name == "intruder" and judge.name == "formula")  # it needs an explanation
    }
    ones = {name: np.ones((1, len(own))) for name, own in texts.items()}
    windows = JudgeDetection.measure(texts["windows"], ones["windows"], by=("accuracy",))
    measured = {"windows": windows}
    for name in ("random", "length"):
        measured[name] = JudgeDetection.measure(texts[name], ones[name], by=("balanced",))
    forms: tuple[Wrong, ...] = ("within", "across")
    for form in forms:
        measured[form] = JudgeFuzzing.measure(texts[form], ones[form], by=("balanced",), form=form)
    if "intruder" in texts:
        measured["intruder"] = JudgeIntruder.measure(texts["intruder"], ones["intruder"])
    return [interval_cell(measured[name].ravel()) if name in measured else "–" for name in asked]


def pack_parser(text: str | None, latents: int) -> argparse.ArgumentParser:
    """What all benchmarks of stored codes can be told."""
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--latents", type=int, default=latents)
    parser.add_argument("--seed", type=int, default=0)
    return parser


def main() -> None:
    """Ask, and print."""
    arguments = pack_parser(__doc__, 200).parse_args()
    started = time.process_time()
    evidence, vocabulary = read_pack(arguments.folder, arguments.seed)
    heads = (
        "dictionary", "judge", "SAEBench's form, accuracy", "random texts", "texts as long",
        "fuzzing within", "fuzzing across", "intruder",
    )  # fmt: skip
    print("| " + " | ".join(heads) + " |")
    print("|---" * len(heads) + "|")
    for name, own in evidence.items():
        source = LatentTexts(own, vocabulary)
        latents = source.latents_to_ask(arguments.latents, fewest=8, seed=arguments.seed)
        keyword = source.keyword_judge(latents)
        maker = QuestionMaker(source, formulas(keyword), seed=arguments.seed)
        asked = {
            "windows": maker.windows(latents),
            "random": maker.detection(latents, "random"),
            "length": maker.detection(latents, "length"),
            "within": maker.fuzzing(latents, "within"),
            "across": maker.fuzzing(latents, "across"),
            "intruder": maker.intruder(latents),
        }
        judges: list[Judge] = [
            keyword, source.bag_of_words_judge(latents), FormulaJudge(),
            ConstantJudge.always_no(), CoinJudge(arguments.seed),
        ]  # fmt: skip
        for judge in judges:
            row = " | ".join(cells(asked, judge, source))
            print(f"| {name} | `{judge.name}` | {row} |", flush=True)
    print(f"\n{len(latents)} latents a dictionary; {time.process_time() - started:.0f} s of CPU")


if __name__ == "__main__":
    main()
