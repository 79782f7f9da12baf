"""Studies and votes of other tools."""
