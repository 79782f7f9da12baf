"""What a study shows to its participants."""
