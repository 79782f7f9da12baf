"""Discover concepts as directions in a network's embeddings, without labels."""
