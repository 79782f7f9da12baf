"""Where the answers to different questions disagree."""
