"""Tokens, sparse autoencoders, latent dashboards and judges of explanations."""
