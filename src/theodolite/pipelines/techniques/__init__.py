"""Many techniques on many networks, their maps and concepts, and the votes on them."""
