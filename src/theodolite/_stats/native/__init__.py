"""C kernels of hot loops, called through ctypes."""
