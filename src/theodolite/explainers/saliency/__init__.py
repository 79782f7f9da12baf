"""Saliency methods: one relevance map per image and class, by gradients, CAMs, LIME, SHAP, RISE."""
