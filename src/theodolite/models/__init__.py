"""Models that speak in concepts, and the networks they are built on."""
