"""What a run leaves: specs, records, manifests, seals."""
