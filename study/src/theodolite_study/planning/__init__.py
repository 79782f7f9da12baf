"""How many people and votes a study needs, and who rates what."""
