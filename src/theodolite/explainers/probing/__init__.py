"""What happens when an image, or the network, is changed? Numbers for scores without people."""
