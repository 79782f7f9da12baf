"""Image-text models (CLIP, SigLIP) and zero-shot classifiers made from them."""
