"""Turn explanations of a run into material for a rating study."""
