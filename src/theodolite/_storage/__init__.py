"""Read and write files, tables and object stores; nothing else touches bytes."""
