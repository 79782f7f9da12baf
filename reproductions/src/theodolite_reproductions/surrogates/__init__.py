"""Test explanations by surrogates as the surrogate paper does."""
