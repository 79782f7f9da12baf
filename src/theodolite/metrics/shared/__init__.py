"""What scores of several questions share."""
