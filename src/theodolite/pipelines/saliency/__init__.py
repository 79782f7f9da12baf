"""Pipeline that computes saliency maps and applies every test to them."""
