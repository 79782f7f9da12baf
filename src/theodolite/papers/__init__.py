"""What five papers define, print and claim, entry by entry, and what runs and tests say of it."""
