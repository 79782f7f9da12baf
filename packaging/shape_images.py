"""Write the weights of the network of ``theodolite.datasets.planted_shapes``."""

from pathlib import Path

import numpy as np

from theodolite.datasets import shape_images

FILE = Path(shape_images.__file__).with_name(shape_images.WEIGHTS)

if __name__ == "__main__":
    weights = shape_images.train_network().state_dict()
    np.savez_compressed(FILE, **{name: tensor.numpy() for name, tensor in weights.items()})
