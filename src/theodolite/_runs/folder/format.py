"""Names of the files of a run folder."""

PRODUCED, FINDINGS = "produced.json", "findings.json"
