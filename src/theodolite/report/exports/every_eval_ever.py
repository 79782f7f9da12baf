"""Scores of a run as a record of Every Eval Ever, schema 0.3.0."""

import json
import math
from datetime import datetime
from pathlib import Path
from typing import Any

from theodolite._runs.finished_run import Run, read_finished_run
from theodolite._storage.text import write_json
from theodolite.metrics.catalogue import catalogue
from theodolite.report.words import full_title
from theodolite.results import Score

SCHEMA_VERSION = "0.3.0"
UNKNOWN = "unknown"


def write_every_eval_ever(path: Path, folder: Path) -> Path:
    """Write the record of a run folder, whose checksums are checked first."""
    write_json(path, every_eval_ever(folder))
    return path


def every_eval_ever(folder: Path) -> dict[str, Any]:
    """All scores of a run, with intervals; nulls are in ``details``, as the schema has no field.

    Undefined scores are left out and counted in ``source_metadata``.
    """
    run = read_finished_run(folder)
    spec, defined = run.record.spec, [s for s in run.scores if math.isfinite(s.value)]
    data = run.subject.data or (spec.dataset.name if spec.dataset is not None else spec.name)
    model = run.subject.model or UNKNOWN
    seconds = str(int(datetime.fromisoformat(run.record.started).timestamp()))
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"theodolite/{model}/{seconds}",
        "evaluation_timestamp": run.record.started,
        "retrieved_timestamp": seconds,
        "source_metadata": {
            "source_name": "theodolite",
            "source_type": "evaluation_run",
            "source_organization_name": UNKNOWN,
            "evaluator_relationship": "other",
            "additional_details": {
                "explanation": run.subject.description,
                "scores_undefined": str(len(run.scores) - len(defined)),
                **{f"answer_{v.question}": v.answer for v in run.verdicts},
            },
        },
        "eval_library": {
            "name": "theodolite",
            "version": run.record.packages.get("theodolite", UNKNOWN),
        },
        "model_info": {
            "name": model,
            "id": model,
            "additional_details": {"deployment_type": UNKNOWN, "model_availability": UNKNOWN},
        },
        "evaluation_results": [
            _result(score, number, data, run) for number, score in enumerate(defined)
        ],
    }


def _result(score: Score, number: int, data: str, run: Run) -> dict[str, Any]:
    return {
        "evaluation_result_id": f"{score.metric}-{number}",
        "evaluation_name": full_title(score) if score.metric in catalogue() else score.metric,
        "evaluation_timestamp": run.record.started,
        "source_data": {"dataset_name": data, "source_type": "other"},
        "metric_config": _metric(score),
        "score_details": {"score": score.value, "details": _details(score), **_uncertainty(score)},
    }


def _metric(score: Score) -> dict[str, Any]:
    known = catalogue().get(score.metric)
    config: dict[str, Any] = {
        "metric_id": f"theodolite.{score.metric}",
        "lower_is_better": score.better == "lower",
        "metric_parameters": {name: _json_value(value) for name, value in score.options.items()},
        "additional_details": {"metric_version": str(score.version)},
    }
    if known is not None:
        config |= {"metric_name": known.title, "evaluation_description": known.card.question}
    if all(map(math.isfinite, score.bounds)):  # a continuous score must have finite ends
        low, high = score.bounds
        config |= {"score_type": "continuous", "min_score": low, "max_score": high}
    return config


def _json_value(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else json.dumps(value)


def _details(score: Score) -> dict[str, str]:
    details = {
        "question": score.question,
        "n": str(score.n),
        "n_unit": score.n_unit,
        "n_undefined": str(score.n_undefined),
    }
    if math.isfinite(score.best):
        details["best_possible"] = repr(score.best)
    null = score.null
    if null is not None and math.isfinite(null.value):
        details |= {"null_name": null.name, "null_value": repr(null.value)}
        if null.difference is not None:
            details["null_difference_low"] = repr(null.difference.low)
            details["null_difference_high"] = repr(null.difference.high)
    return details


def _uncertainty(score: Score) -> dict[str, Any]:
    interval = score.interval
    if interval is None or not (math.isfinite(interval.low) and math.isfinite(interval.high)):
        return {}
    uncertainty: dict[str, Any] = {
        "confidence_interval": {
            "lower": interval.low,
            "upper": interval.high,
            "confidence_level": interval.level,
            "method": f"{interval.method} over {interval.over}",
        }
    }
    if score.n_samples is not None:
        uncertainty["num_samples"] = score.n_samples
    return {"uncertainty": uncertainty}
