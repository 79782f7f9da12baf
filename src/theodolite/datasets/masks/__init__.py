"""Pictures with a mask for each concept."""
