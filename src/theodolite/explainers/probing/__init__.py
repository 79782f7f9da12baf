"""What happens when a picture, or the network, is changed? Numbers for scores without people."""
