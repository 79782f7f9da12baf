"""Read rows of untrusted files in blocks: Parquet, Arrow, tar and npz, each checked first."""
