"""What lies beside evidence of tokens: their bytes, what holds of them, what latents are called."""
