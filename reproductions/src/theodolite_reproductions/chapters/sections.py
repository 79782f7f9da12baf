"""Studies that protocols add to runs, and the sections that show them in reports."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2

from theodolite._runs.folder.chapters import Tables
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.folder_reader import RunFolder
from theodolite._runs.report_material import RunMaterial
from theodolite._verdicts.scores_file import ComparedRecord
from theodolite.evidence.base import Evidence
from theodolite.report.page import render_template
from theodolite_reproductions.chapters.charts import model_charts
from theodolite_reproductions.chapters.faithfulness import faithfulness_studies
from theodolite_reproductions.chapters.findings import findings
from theodolite_reproductions.chapters.lookalikes import lookalikes_chapter
from theodolite_reproductions.chapters.opening import opening
from theodolite_reproductions.chapters.printed_tables import printed_tables
from theodolite_reproductions.chapters.rated_texts import rated_texts
from theodolite_reproductions.chapters.score_agreement import score_agreement
from theodolite_reproductions.chapters.techniques import techniques_chapter
from theodolite_reproductions.chapters.vote_correlations import vote_correlation_tables
from theodolite_reproductions.findings.leakage import read_findings, write_findings
from theodolite_reproductions.findings.specs import KINDS, parse_studies

LOADER = jinja2.FileSystemLoader(Path(__file__).parents[1] / "templates")


class ProtocolChapters:
    """Studies of the protocols: see ``theodolite._runs.folder.chapters.Chapters``."""

    kinds = KINDS

    def check(self, spec: RunSpec) -> None:
        """Raise an error if the spec has a study with wrong settings."""
        parse_studies(spec)

    def write(
        self,
        path: Path,
        spec: RunSpec,
        models: Sequence[ComparedRecord],
        evidence: Sequence[Sequence[Evidence]],
        tables: Tables,
    ) -> None:
        """Compute the studies of a spec and write them to a file."""
        write_findings(path, spec, models, evidence, tables)

    def open(self, material: RunMaterial) -> str:
        """Return the results of the studies for the top of a report."""
        studies = opening(read_findings(material.folder)) if isinstance(material, RunFolder) else []
        return render_template("opening.html.j2", {"studies": studies}, LOADER) if studies else ""

    def render(self, material: RunMaterial, models: Sequence[ComparedRecord]) -> list[str]:
        """Return the sections of a report."""
        if not isinstance(material, RunFolder):
            return []
        studies = read_findings(material.folder)
        papers = findings(studies)
        if papers is not None:
            papers["lookalikes"] = lookalikes_chapter(studies, material, models)
        contents: dict[str, Any] = {
            "charts.html.j2": {"models": model_charts(material.record.spec, models)},
            "faithfulness_studies.html.j2": {"faithfulness": faithfulness_studies(studies)},
            "score_agreement.html.j2": {"matrices": score_agreement(studies)},
            "vote_correlations.html.j2": {"tables": vote_correlation_tables(studies)},
            "techniques.html.j2": {"techniques": techniques_chapter(studies)},
            "findings.html.j2": {"findings": papers},
            "rated_texts.html.j2": {"groups": rated_texts(material)},
            "printed_tables.html.j2": {"tables": printed_tables(material)},
        }
        return [
            render_template(name, content, LOADER)
            for name, content in contents.items()
            if any(content.values())
        ]


CHAPTERS = ProtocolChapters()
