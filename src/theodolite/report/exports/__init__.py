"""Tables for a paper, a model card."""
