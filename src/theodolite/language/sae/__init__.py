"""SAE dissection: find the formula of concepts that each latent detects, from sparse
activations."""
