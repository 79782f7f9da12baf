"""Networks that know images and sentences."""
