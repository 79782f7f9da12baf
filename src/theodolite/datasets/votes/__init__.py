"""What people said of explanations."""
