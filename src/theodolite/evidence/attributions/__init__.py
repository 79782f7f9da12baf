"""Features of tables in the order of their attributions, and what a model is asked about them."""
