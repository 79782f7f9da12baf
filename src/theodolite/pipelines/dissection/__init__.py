"""Units of a layer and what they detect."""
