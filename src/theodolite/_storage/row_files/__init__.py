"""Files of other people's data in rows: Parquet, Arrow, tar. Read in blocks, looked at first."""
