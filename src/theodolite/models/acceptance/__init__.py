"""A score that is learnt from people's ratings of explanations."""
