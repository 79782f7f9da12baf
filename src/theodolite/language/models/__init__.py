"""Language models: read activations at every token, and load or train SAEs of them."""
