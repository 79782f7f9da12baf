"""The front door: give what you have, get every answer that it allows."""
