"""Readers of image data sets with concept masks, for network dissection."""
