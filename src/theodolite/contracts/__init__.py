"""What evidence is: arrays on named axes, checked once when made."""
