"""Match regular expressions over texts in a process that can be stopped. Used by
:mod:`.predicates`."""

import multiprocessing
import re
from collections.abc import Mapping, Sequence

from theodolite.errors import EvidenceError

Span = tuple[int, int, str]
"""First character, the one after the last, and the matched text."""
MAX_CHARACTERS = 10_000


def find_pattern_spans(
    texts: Sequence[str], patterns: Mapping[str, str], timeout: float
) -> list[list[Span]]:
    """Return where each pattern matches in the first characters of each text.

    A pattern of a few characters can take for ever, and Python has no other defense than to end
    the process.
    """
    for name, pattern in patterns.items():
        try:
            re.compile(pattern)
        except re.error as error:
            raise EvidenceError(f"pattern {name!r}", f"{error}"[:100], "an expression") from error
    cut = [text[:MAX_CHARACTERS] for text in texts]
    with multiprocessing.get_context("spawn").Pool(1) as pool:  # ended at the end, done or not
        waiting = pool.apply_async(match_patterns, (cut, dict(patterns)))
        try:
            return waiting.get(timeout)
        except multiprocessing.TimeoutError as error:
            raise EvidenceError(
                "patterns", f"no end after {timeout:g} s", "expressions that come to an end",
                "Nested repeats such as (a+)+ are the usual reason.",
            ) from error  # fmt: skip


def match_patterns(texts: Sequence[str], patterns: Mapping[str, str]) -> list[list[Span]]:
    """Return where each pattern matches in each text; runs in the other process."""
    compiled = {name: re.compile(pattern) for name, pattern in patterns.items()}
    return [
        [
            (match.start(), match.end(), name)
            for name, pattern in compiled.items()
            for match in pattern.finditer(text)
            if match.end() > match.start()
        ]
        for text in texts
    ]
