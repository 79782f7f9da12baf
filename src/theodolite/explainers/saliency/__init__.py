"""Where in an image a network's answer comes from: one map per image, by many methods."""
