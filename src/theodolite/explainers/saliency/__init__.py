"""Where in a picture a network's answer comes from: one map per picture, by many methods."""
