"""Networks that know pictures and sentences."""
