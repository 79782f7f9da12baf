"""Latent dashboard: offline pages that show an SAE and each of its latents."""
