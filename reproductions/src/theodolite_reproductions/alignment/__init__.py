"""Tables for claims about concept alignment (Aysel et al., 2025)."""
