"""Answers that rest on nothing but the figures that a paper prints itself."""

import hashlib
from importlib.metadata import version

from theodolite._runs.engine.checkpoints import to_canonical_json
from theodolite_reproductions.claims.answers.printed_tables import printed_answers
from theodolite_reproductions.claims.results import PRINTED, ResultFile, printed_digest, stand_ins

PAPER = "004"


def printed_result() -> ResultFile:
    """What the printed tables of paper 004 decide, sealed with the digest of these tables."""
    answers, moves = printed_answers()
    content = [part.model_dump(mode="json") for part in (*answers, *moves)]
    return ResultFile(
        protocol=PRINTED, files={f"printed figures of paper {PAPER}": printed_digest(PAPER)},
        metrics={}, run=hashlib.sha256(to_canonical_json(content).encode()).hexdigest(),
        code=version("theodolite"), stand_in=stand_ins()[PRINTED], answers=tuple(answers),
        moves=tuple(moves),
    ).sealed()  # fmt: skip
