"""Which directions does a network use? Concepts found in embeddings, without names for them."""
