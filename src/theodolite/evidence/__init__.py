"""Evidence: the arrays that a metric reads. Defines its kinds, named axes, checks and storage."""
