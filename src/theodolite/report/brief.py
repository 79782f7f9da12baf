"""Write the brief: two pages of A4 for a committee, with answers, examples, limits and checks.

Used by `theodolite report --brief` and `AuditResult.report`. Content comes from the chapters of the
report.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from theodolite._runs.folder.run_records import RunRecord
from theodolite._runs.folder.spec_answers import decide_verdicts
from theodolite._runs.report_material import RunMaterial
from theodolite._storage.paths import all_or_nothing
from theodolite._verdicts.words import percent
from theodolite.errors import EvidenceError
from theodolite.metrics.catalogue import catalogue
from theodolite.report.chapters.attributions import attribution_rows
from theodolite.report.chapters.map_images import map_images
from theodolite.report.chapters.saliency import saliency_chapter
from theodolite.report.examples import examples, examples_part
from theodolite.report.head import head
from theodolite.report.limits import limits
from theodolite.report.page import TEMPLATES, page_text
from theodolite.report.palette import palette
from theodolite.report.provenance import COMMANDS
from theodolite.report.words import full_title, unbroken
from theodolite.results import Verdict

MAX_NULLS = 3
STYLES = ("images.css", "brief.css")
PRINT_IT = (
    "WeasyPrint is not available: pip install 'theodolite[pdf]' (it requires Pango). Or open the "
    "HTML brief in a browser and print it: two pages of A4."
)
_SVG = re.compile(r"(<svg\b[^>]*>)(.*?)</svg>", re.DOTALL)
_USE = re.compile(r'<use href="#([^"]+)"/>')
_IMAGE = re.compile(r'<image id="([^"]+)"([^>]*)/>')


def write_brief(material: RunMaterial, path: Path) -> tuple[Path, str]:
    """Write the brief as PDF or HTML, by the ending of the path.

    Returns:
        The file that was written, and what to do for a PDF; the latter is empty unless a PDF was
        asked for and WeasyPrint is not available, in which case the file is HTML.
    """
    if path.suffix not in (".pdf", ".html", ".htm") or path.is_dir():
        raise EvidenceError("brief", repr(str(path)), "a file name that ends in .pdf or .html")
    html, note = _inline_styles(page_text("brief.html.j2", _content(material), styles=STYLES)), ""
    content = html.encode()
    if path.suffix == ".pdf":
        try:
            import weasyprint  # noqa: PLC0415  optional
        except (ImportError, OSError):  # OSError without Pango
            path, note = path.with_suffix(".html"), PRINT_IT
        else:
            content = weasyprint.HTML(string=html).write_pdf()
    with all_or_nothing(path) as stream:
        stream.write(content)
    return path, note


def _content(material: RunMaterial) -> dict[str, Any]:
    record, made_record, spec = material.record, material.made_record, material.record.spec
    scores, not_computed = material.scored
    scores = [score for score in scores if score.metric in catalogue()]
    subject = material.subject
    verdicts = decide_verdicts(spec, scores, subject, not_computed, material.errors)
    content = head(record, made_record, verdicts, subject)
    cards = examples_part(examples(material, made_record.examples, spec.seeds[0]))
    saliency = saliency_chapter(material, spec, material.compared())
    maps = None if saliency is None else saliency["maps"]
    return content | {
        "compared": _list_comparisons(verdicts),
        "examples": cards and cards | {"more": []},
        "explained_rows": attribution_rows(material, spec.seeds[0]),
        "map_images": map_images(material, spec.seeds[0]),
        "saliency": maps and {"maps": maps | {"more": []}},
        "limits": limits(record, made_record, verdicts, subject, content["noun"]),
        "date": record.started.partition("T")[0],
        "run": _describe_run(record),
        "checks": [] if material.alone else COMMANDS[:2],
    }


def _list_comparisons(verdicts: Sequence[Verdict]) -> list[dict[str, str]]:
    """List the score behind each answer, and the baselines that it was compared with."""
    scores = [verdict.score for verdict in verdicts if verdict.score is not None]
    return [
        {
            "score": full_title(score),
            "value": unbroken(percent(score.value, score)),
            "nulls": "; ".join(
                unbroken(f"{null.label} {percent(null.value, score)}".replace("_", " "))
                for null in score.nulls[:MAX_NULLS]
            ),
            "best": unbroken(percent(score.best, score)),
            "n": f"{score.n:,} {score.n_unit}",
        }
        for score in scores
    ]


def _describe_run(record: RunRecord) -> str:
    resampling = record.spec.resampling
    level = f"{100 * resampling.level:g}\u00a0% intervals, {resampling.resamples:,} resamples"
    return f"Run {record.spec.name}, theodolite {record.packages.get('theodolite', '')}; {level}."


def _inline_styles(html: str) -> str:
    """Copy images and colors into each SVG: WeasyPrint renders each SVG separately."""
    images = dict(_IMAGE.findall(html))
    css = "".join((TEMPLATES / name).read_text("utf-8") for name in ("strips.css", "images.css"))
    for name, color in palette().items():
        css = css.replace(f"var(--{name})", color)
    style = f"<style>{css.replace('var(--mark)', '#e8590c')}</style>"

    def inline(drawing: re.Match[str]) -> str:
        inside = _USE.sub(lambda use: f"<image{images[use[1]]}/>", drawing[2])
        return f"{drawing[1]}{style if 'class=' in inside else ''}{inside}</svg>"

    return _SVG.sub(inline, re.sub(r'<svg class="definitions".*?</svg>', "", html, flags=re.DOTALL))
