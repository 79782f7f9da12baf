"""Find samples and concepts on which questions disagree."""
