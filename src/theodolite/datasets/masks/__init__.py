"""Images with a mask for each concept."""
