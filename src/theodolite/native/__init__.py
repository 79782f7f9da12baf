"""Hot loops in plain C, called through ctypes: nothing is compiled on the user's machine."""
