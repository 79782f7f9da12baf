"""Compare ratings by explanation technique."""
