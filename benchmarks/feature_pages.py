"""What pages of 100,000 features weigh, how long they take to write, and how soon they open.

Codes are made up piece by piece, so that no more than a piece of them is in memory; the folder is
opened in Chromium as a file, without a server. Run: python benchmarks/feature_pages.py
"""

import argparse
import resource
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from theodolite.evidence.axes import Latents, Samples
from theodolite.evidence.base import Evidence
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import Ragged, compute_starts
from theodolite.language.dashboard.nulls import FeatureNull, FeatureScore
from theodolite.language.dashboard.pages import feature_pages
from theodolite.language.texts.explanations import LatentExplanation
from theodolite.language.texts.vocabulary import Vocabulary

LENGTH, ROWS, ACTIVE, WORDS = 64, 2048, 32, 50_000
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@dataclass(frozen=True)
class MadeUpPiece:
    """2,048 texts of 64 tokens, the same for the same number."""

    number: int
    latents: int

    def evidence(self) -> TokenEvidence:
        """Made anew each time: latents of rank r are active as r to the power of -0.7."""
        random = np.random.default_rng(self.number)
        n = ROWS * LENGTH
        often = np.cumsum(np.arange(1, self.latents + 1) ** -0.7)
        drawn = np.searchsorted(often, random.random((n, ACTIVE)) * often[-1])
        latent = np.sort(np.minimum(drawn, self.latents - 1).astype(np.int32), axis=1)
        new = np.ones(latent.shape, bool)
        new[:, 1:] = latent[:, 1:] != latent[:, :-1]
        starts = compute_starts(np.full(ROWS, LENGTH))
        inner = compute_starts(new.sum(axis=1))
        words = np.minimum(random.zipf(1.3, n), WORDS) - 1
        first = self.number * ROWS
        return TokenEvidence(
            tokens=Ragged(words.astype(np.int32), starts),
            latent=Ragged(latent[new], starts, inner),
            value=Ragged(random.gamma(1.0, 2.0, int(new.sum())).astype(np.float32) + 0.01, starts,
                         inner),
            latents=Latents(count=self.latents),
            samples=Samples(np.arange(first, first + ROWS)),
        )  # fmt: skip


@dataclass(frozen=True)
class MadeUpShards:
    """So many pieces."""

    latents: int
    count: int
    kind: type[Evidence] = TokenEvidence

    def first(self) -> Evidence:
        """The first text."""
        return MadeUpPiece(0, self.latents).evidence()[:1]

    def __len__(self) -> int:
        return self.count * ROWS

    def shards(self) -> Sequence[MadeUpPiece]:
        """All pieces."""
        return [MadeUpPiece(number, self.latents) for number in range(self.count)]

    def digests(self) -> Sequence[str]:
        """Not needed here."""
        return []

    def samples(self) -> Iterator[tuple[Samples, np.ndarray | None]]:
        """Which texts there are."""
        yield Samples(np.arange(len(self))), None


def write(folder: Path, latents: int, pieces: int) -> tuple[float, float]:
    """Write the pages; seconds of CPU and of the clock."""
    random = np.random.default_rng(0)
    values, bars = random.random((2, latents))
    null = FeatureNull("random directions", bars, meaning="random directions, as often active")
    words = Vocabulary.of([f" word{number}" for number in range(WORDS)])
    explanations = [
        LatentExplanation(latent, "text", f"words that go with {latent % 997} and the like")
        for latent in range(latents)
    ]
    cpu, clock = time.process_time(), time.perf_counter()
    feature_pages(
        MadeUpShards(latents, pieces), words, folder, title="Made-up features",
        scores=[FeatureScore("overlap", values, [null])], explanations=explanations,
        one_file_up_to=0,
    )  # fmt: skip
    return time.process_time() - cpu, time.perf_counter() - clock


def opening(folder: Path, latents: int) -> tuple[float, float, float, float]:
    """Seconds until the list is there, until a search is, until a first and a second feature are;
    the least of three times each."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    times = []
    with sync_playwright() as p:
        path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
        browser = p.chromium.launch(executable_path=path, args=ARGUMENTS)
        for turn in range(3):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            marks = [time.perf_counter()]
            page.goto((folder / "index.html").as_uri())
            page.wait_for_selector("#list-body[data-ready]")
            marks.append(time.perf_counter())
            page.fill("#list input", f"with {(latents - 1) % 997} and")
            page.locator("#list [role=status]", has_text="found among").wait_for()
            marks.append(time.perf_counter())
            for feature in (turn, latents - 1 - turn):
                page.evaluate(f"location.hash = '#feature-{feature}'")
                page.wait_for_selector(f"#feature[data-shown='{feature}']")
                marks.append(time.perf_counter())
            times.append(np.diff(marks))
            page.close()
        browser.close()
    return tuple(np.min(times, axis=0).tolist())


def measured(folder: Path, latents: int, pieces: int) -> tuple[float, ...]:
    """Write, weigh and open, and say so."""
    cpu, clock = write(folder, latents, pieces)
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    ready, search, first, second = opening(folder, latents)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(
        f"{latents:,} features on {pieces * ROWS * LENGTH:,} tokens, {ACTIVE} active: "
        f"{len(sizes)} files, {sum(sizes) / 1e6:.1f} MB, largest {max(sizes) / 1e6:.2f} MB\n"
        f"  written in {cpu:.1f} CPU-s ({clock:.1f} s by the clock), {memory:,.0f} MB of memory\n"
        f"  opened: list {ready:.2f} s, search {search:.2f} s (0.12 of it waits for more typing), "
        f"first feature {first:.2f} s, another {second:.2f} s"
    )
    return ready, first


def main() -> None:
    """A small folder and a large one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=int, default=100_000)
    parser.add_argument("--pieces", type=int, default=8, help="of 131,072 tokens")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        small = measured(Path(folder) / "small", 1_000, 1)
        large = measured(Path(folder) / "large", options.features, options.pieces)
    print(f"list of {options.features:,} against 1,000: {large[0] / small[0]:.2f} times as long")


if __name__ == "__main__":
    main()
