"""Probe saliency maps without raters: remove pixels, add noise, randomize the network."""
