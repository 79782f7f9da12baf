"""Material of a rating study: items, images, texts and hidden checks."""
