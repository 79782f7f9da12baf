"""Data next to token evidence: vocabularies, token predicates and explanations of latents."""
