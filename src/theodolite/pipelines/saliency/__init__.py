"""Maps of saliency methods, put to every test."""
