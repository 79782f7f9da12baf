"""What papers ask over many models."""
