"""Define the commands of `theodolite study`."""
