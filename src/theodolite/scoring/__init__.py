"""Values, intervals and nulls from evidence in pieces."""
