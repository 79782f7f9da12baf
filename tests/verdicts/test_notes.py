"""Notes of an audit about the options that it took."""

from theodolite._planted.concepts import planted_concepts
from theodolite._planted.judgments import planted_judgments
from theodolite._verdicts.answers import requests_for
from theodolite._verdicts.notes import fallbacks
from theodolite.evidence.plain_arrays import replace_arrays


def test_fallbacks_default_asked_too_gives_no_note() -> None:
    evidence = planted_judgments(40)
    requests, _ = requests_for({type(evidence): evidence})
    assert any(request.options.get("over") == "judges" for request in requests)
    assert fallbacks(requests) == []


def test_fallbacks_default_impossible_gives_note() -> None:
    evidence = replace_arrays(planted_concepts(60), weights=None)
    requests, _ = requests_for({type(evidence): evidence})
    assert [note.partition(":")[0] for note in fallbacks(requests)] == ["Concept existence (CEM)"]
