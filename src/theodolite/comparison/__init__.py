"""Two runs paired, many runs ranked."""
