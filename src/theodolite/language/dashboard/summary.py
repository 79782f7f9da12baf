"""Text and figure at the top of a dashboard: how many latents beat each baseline, and firing rates.

Used by `pages` and `writer`. The page says "feature" for a latent.
"""

import math
from typing import Any

import numpy as np
from jaxtyping import Int
from markupsafe import Markup

from theodolite.language.dashboard.material import FeatureMaterial
from theodolite.language.dashboard.nulls import NullShare, count_wins
from theodolite.report.figures.score_strip import NullMark, StripAxis
from theodolite.report.figures.strips import plain_strip, strip_key
from theodolite.report.figures.svg import box, drawing, line, text

RANDOM = "random directions"
"""Null without which no result counts as a finding about the model."""
MAX_USEFUL_RATE = 0.1
"""Firing rate above which a latent hardly distinguishes tokens."""
TICKS = {-5: "0.001 %", -4: "0.01 %", -3: "0.1 %", -2: "1 %", -1: "10 %", 0: "100 %"}
STEPS = 5
"""Number of bars between two ticks."""


def format_percent(share: float) -> str:
    """Format a fraction as a percentage with three significant digits or fewer.

    >>> format_percent(0.2361), format_percent(0.05), format_percent(0.00012)
    ('23.6 %', '5 %', '0.012 %')
    """
    if math.isnan(share):
        return "undefined"
    value = 100 * share
    digits = 1 if value >= 0.95 or value == 0 else max(1 - math.floor(math.log10(value)), 1)
    return f"{value:.{digits}f}".removesuffix(".0") + " %"


def summarize_dashboard(material: FeatureMaterial) -> dict[str, Any]:
    """Return the values that fill the template of the summary."""
    activity, n = material.activity, len(material)
    shares = [share for score in material.scores for share in count_wins(score)]
    n_too_frequent = int((activity.firing_rate > MAX_USEFUL_RATE).sum())
    return {
        "title": material.title,
        "subtitle": f"{n:,} features on {activity.tokens:,} tokens of {activity.sequences:,} texts",
        "verdict": _write_verdict(material, shares),
        "rows": [_format_row(share, n) for share in shares],
        "scores": [(score.title, score.meaning) for score in material.scores],
        "figure": draw_firing_rates(activity.active_tokens, activity.tokens),
        "facts": [
            ("never active", f"{material.dead:,} of {n:,}"),
            (
                f"active at more than {format_percent(MAX_USEFUL_RATE)} of the tokens",
                f"{n_too_frequent:,} of {n:,}",
            ),
            ("a typical feature (the median) is active at", _format_median(material)),
        ],
        "notes": list(material.notes),
        "strip_key": strip_key()[:3],
    }


def _format_median(material: FeatureMaterial) -> str:
    rates = material.activity.firing_rate
    alive = rates[rates > 0]
    return (
        f"{format_percent(float(np.median(alive)))} of the tokens" if len(alive) else "none of them"
    )


def _write_verdict(material: FeatureMaterial, shares: list[NullShare]) -> list[str]:
    n = len(material)
    first = next((share for share in shares if share.null == RANDOM), None)
    if first is None:
        without = "No random directions were given to hold the features against: nothing here can "
        lines = [without + "be called a finding about the network."]
    elif not first.yes + first.no:
        lines = [
            f"Of none of the {n:,} features can it be told whether it beats random directions."
        ]
    else:
        low, high = first.interval
        which = (
            f"{n:,} features"
            if not first.cannot_tell
            else (f"the {n - first.cannot_tell:,} features of which it can be told")
        )
        lines = [
            f"{first.yes:,} of {which} beat random directions "
            f"({format_percent(first.share)}, {format_percent(low)} to {format_percent(high)}); "
            "by chance it would be "
            f"{format_percent(first.by_chance)}."
        ]
    for share in shares:
        if share.null == "single_token" and share.yes + share.no:
            lines.append(
                f"{share.yes:,} are described better by something else than a single token."
            )
    if material.dead:
        lines.append(f"{material.dead:,} are never active in these texts.")
    return lines


def _format_row(share: NullShare, n: int) -> dict[str, Any]:
    low, high = share.interval
    return {
        "score": share.score, "null": share.null, "meaning": share.meaning,
        "yes": f"{share.yes:,}", "no": f"{share.no:,}", "cannot_tell": f"{share.cannot_tell:,}",
        "share": format_percent(share.share),
        "interval": f"{format_percent(low)} to {format_percent(high)}",
        "defined": share.yes + share.no > 0,
        "by_chance": "" if math.isnan(share.by_chance) else format_percent(share.by_chance),
        "bar": _draw_bar(share),
    }  # fmt: skip


def _draw_bar(share: NullShare) -> Markup:
    """Draw the fraction on a line from 0 to 1, with its interval and the chance level."""
    if not share.yes + share.no:
        return Markup()
    chance = None
    if not math.isnan(share.by_chance):
        chance = NullMark(f"by chance {format_percent(share.by_chance)}", share.by_chance)
    return plain_strip(share.share, share.interval, StripAxis(0.0, 1.0), null=chance)


def draw_firing_rates(active: Int[np.ndarray, " latents"], tokens: int) -> Markup:
    """Draw a histogram of firing rates on a logarithmic axis."""
    rates = active[active > 0] / max(tokens, 1)
    low = min(max(math.floor(math.log10(rates.min())) if len(rates) else -3, -5), -1)
    n = -low * STEPS
    place = np.clip(np.floor((np.log10(np.maximum(rates, 1e-12)) - low) * STEPS), 0, n - 1)
    counts = np.bincount(place.astype(int), minlength=n)
    width, left, base = 560, 20, 130
    step = (width - 2 * left) / n
    parts = []
    for i in np.flatnonzero(counts):
        height = 100 * counts[i] / counts.max()
        ends = (format_percent(10 ** (low + (i + side) / STEPS)) for side in (0, 1))
        title = f"{' to '.join(ends)} of the tokens: {counts[i]:,} features"
        parts.append(
            box("bar", (left + i * step + 0.8, base - height), (step - 1.6, height), title)
        )
    parts.append(line("axis", (left, base), (width - left, base)))
    for power in range(low, 1):
        at = left + (power - low) * STEPS * step
        parts += [line("axis", (at, base), (at, base + 4)), text(TICKS[power], at, base + 18,
                  "end" if power == 0 else "start" if power == low else "middle")]  # fmt: skip
    tallest = f"tallest bar: {int(counts.max(initial=0)):,} features"
    parts.append(text(tallest, width - left, 14, "end"))
    caption = f"How often features are active, {len(rates):,} features; {tallest}"
    return drawing("histogram", (width, 156), caption, parts)
