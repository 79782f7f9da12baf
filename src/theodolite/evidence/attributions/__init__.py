"""Plan which features of a table to remove, and turn the model's answers into evidence."""
