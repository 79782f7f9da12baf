"""Language models: tokens, sparse autoencoders (SAEs), latent dashboards and judges of
explanations."""
