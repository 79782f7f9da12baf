"""Register the claims of the papers and compare them with runs."""
