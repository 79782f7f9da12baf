"""Commands of the study server."""
