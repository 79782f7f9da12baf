"""Read and write Zarr arrays and their chunks."""
