"""A study to try, without data of one's own."""
