"""What a small language model is worth as a judge of latents: log odds of Yes against No.

    python benchmarks/model_judge.py LM_FEATURES MODEL [--latents 20] [--seed 0]

LM_FEATURES as for judge_floors.py; MODEL is a folder of transformers or a .gguf file. The judge is
put on a scale by questions about other latents, and asked about detection with negatives of equal
length and about fuzzing within texts, beside a keyword judge on the same questions. Prints a table
in Markdown, intervals over latents.
"""

import time
from pathlib import Path

import numpy as np
from judge_floors import LIMITS, formulas, interval_cell, pack_parser, read_pack

from theodolite._storage.paths import sha256_of
from theodolite.language.judges.base import Judge
from theodolite.language.judges.latent_texts import LatentTexts
from theodolite.language.judges.log_odds import LogOddsJudge
from theodolite.language.judges.questions import QuestionMaker
from theodolite.language.models.loading import load_language_model
from theodolite.metrics.language.judges import JudgeDetection, JudgeFuzzing


def main() -> None:
    """Ask, and print."""
    parser = pack_parser(__doc__, 20)
    parser.add_argument("model", type=Path)
    arguments = parser.parse_args()
    started = time.process_time()
    loaded = load_language_model(arguments.model)
    identity = sha256_of(arguments.model) if arguments.model.is_file() else arguments.model.name
    plain = LogOddsJudge(loaded.model, loaded.tokenizer, identity)
    evidence, vocabulary = read_pack(arguments.folder, arguments.seed)
    print("| dictionary | judge | detection | its AUROC | fuzzing within |\n|---|---|---|---|---|")
    for name, own in evidence.items():
        source = LatentTexts(own, vocabulary)
        every = source.latents_to_ask(arguments.latents + 8, fewest=8, seed=arguments.seed)
        others = every[3::4][:8]  # from rare to frequent, as the rest
        latents = [latent for latent in every if latent not in others]
        keyword = source.keyword_judge(every)
        maker = QuestionMaker(source, formulas(keyword), seed=arguments.seed)
        known = maker.detection(others)
        judges: list[Judge] = [plain.calibrated(known.questions, known.active), keyword]
        for judge in judges:
            detection = maker.detection(latents).answered(judge, source, budget=LIMITS)
            fuzzing = maker.fuzzing(latents).answered(judge, source, budget=LIMITS)
            ones = np.ones((1, len(detection))), np.ones((1, len(fuzzing)))
            scores = [
                JudgeDetection.measure(detection, ones[0], by=("balanced",)),
                JudgeDetection.measure(detection, ones[0], by=("auroc",)),
                JudgeFuzzing.measure(fuzzing, ones[1], by=("balanced",)),
            ]
            row = " | ".join(interval_cell(score.ravel()) for score in scores)
            print(f"| {name} | `{judge.name}` | {row} |", flush=True)
    print(f"\n{len(latents)} latents a dictionary; {time.process_time() - started:.0f} s of CPU")


if __name__ == "__main__":
    main()
