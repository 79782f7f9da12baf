"""Make evidence with a known truth, and validate metrics on it."""
