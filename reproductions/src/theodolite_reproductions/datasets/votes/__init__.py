"""Read the published ratings that only protocols use."""
