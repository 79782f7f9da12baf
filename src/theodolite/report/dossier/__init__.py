"""Write and verify a dossier that can be signed."""
