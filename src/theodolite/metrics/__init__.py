"""Evidence to score: pure functions, and states that add."""
