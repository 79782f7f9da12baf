"""Files of a run folder: spec, records, checksums."""
