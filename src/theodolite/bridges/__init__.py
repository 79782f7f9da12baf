"""Exchange data with other libraries, one file each."""
