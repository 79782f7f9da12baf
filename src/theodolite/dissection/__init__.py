"""Find the concepts that units detect."""
