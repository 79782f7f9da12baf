"""Pipeline that tests whether discovered concepts reproduce a network's outputs."""
