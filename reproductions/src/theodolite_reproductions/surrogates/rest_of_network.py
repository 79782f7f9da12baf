"""What a network makes of a layer's output: the output replaced, or its effect linearized."""

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from theodolite.errors import EvidenceError
from theodolite.models.features import find_module, set_evaluation_mode

if TYPE_CHECKING:
    import torch

Images = Float[np.ndarray, "samples *image"]
Activations = Float[np.ndarray, "_samples _channels *places"]
Outputs = Float[np.ndarray, "samples classes"]


class RestOfNetwork:
    r"""The part of a network after a layer, :math:`y(h)`, without taking the network apart.

    The whole network is run on the images, and what the layer gives is replaced on the way. So
    the images are always needed: whatever goes around the layer, such as a skip connection,
    comes from them and stays as it was.

    Args:
        network: Any torch module that gives samples x classes.
        layer: The layer's name, or the module itself. It gives one tensor and is used once.
        batch: How many samples are run at a time.
        channels_axis: Where the layer has its channels: 1 for a CNN, -1 for tokens. Activations
            that come from here or go in here always have them second.
    """

    def __init__(
        self,
        network: "torch.nn.Module",
        layer: "str | torch.nn.Module",
        *,
        batch: int = 64,
        channels_axis: int = 1,
    ) -> None:
        self.network, self.batch, self.axis = network, batch, channels_axis
        self.layer = find_module(network, layer) if isinstance(layer, str) else layer

    def activations(self, images: Images) -> Activations:
        """What the layer gives, :math:`h`."""
        return self._in_batches(lambda x: self._run(x)[1], images)

    def outputs(self, images: Images, activations: Activations | None = None) -> Outputs:
        """What the network gives, with these activations in the place of the layer's, if any."""
        replaced = () if activations is None else (activations,)
        return self._in_batches(lambda *tensors: self._run(*tensors)[0], images, *replaced)

    def linearized(self, images: Images, replaced: Activations) -> Outputs:
        r"""To first order, what the network gives for other activations :math:`h'`.

        .. math:: y(h) + J(h) (h' - h)

        :math:`J(h)` is the derivative of the outputs at the layer's own activations :math:`h`.
        """

        def expanded(x: Any, new: Any) -> Any:
            here = self._run(x)[1]
            value, change = self._derivative(x, here, _alike(new, here) - here)
            return value + change

        return self._in_batches(expanded, images, replaced)

    def contributions(
        self,
        images: Images,
        directions: Float[np.ndarray, "concepts channels"],
        codes: Float[np.ndarray, "_samples _concepts *places"],
    ) -> Float[np.ndarray, "samples classes concepts"]:
        r"""To first order, what each concept adds to the outputs.

        .. math:: J(h) (v_k \otimes u_k)

        :math:`v_k` is the direction of concept :math:`k` in the channels, and :math:`u_k` its code
        at each place of the layer; the product with :math:`J(h)` sums over the places.
        """
        import torch  # noqa: PLC0415

        if not len(directions) or codes.shape[1] != len(directions):
            got = f"{codes.shape[1]} codes and {len(directions)} directions"
            raise EvidenceError("concepts", got, "as many of each, and at least one")
        vectors = self._tensor(directions)

        def added(x: Any, codes: Any) -> Any:
            here = self._run(x)[1]
            places = [1] * (codes.ndim - 2)
            steps = (codes[:, k, None] * v.view(-1, *places) for k, v in enumerate(vectors))
            changes = [self._derivative(x, here, _alike(step, here))[1] for step in steps]
            return torch.stack(changes, dim=2)

        return self._in_batches(added, images, codes)

    def _in_batches(self, step: Callable[..., Any], *arrays: np.ndarray) -> np.ndarray:
        import torch  # noqa: PLC0415

        n = len(arrays[0])
        if not n or any(len(array) != n for array in arrays):
            got = " and ".join(f"{len(array)}" for array in arrays)
            raise EvidenceError("samples", got, "as many of each, and at least one")
        results = []
        with set_evaluation_mode(self.network), torch.no_grad():
            for start in range(0, n, self.batch):
                tensors = [self._tensor(array[start : start + self.batch]) for array in arrays]
                results.append(step(*tensors).cpu().numpy())
        return np.concatenate(results)

    def _tensor(self, array: np.ndarray) -> "torch.Tensor":
        import torch  # noqa: PLC0415

        device = next((p.device for p in self.network.parameters()), "cpu")
        tensor = torch.from_numpy(np.array(array, np.float32)).to(device)
        return tensor.contiguous(memory_format=torch.channels_last) if array.ndim == 4 else tensor

    def _run(self, images: Any, replaced: Any = None) -> tuple[Any, Any]:
        """What the network gives, and what the layer gave, channels second."""
        activations: list[Any] = []

        def hook(_: Any, __: Any, output: Any) -> Any:
            if not hasattr(output, "movedim"):
                raise EvidenceError("layer", type(output).__name__, "a layer that gives one tensor")
            own = output.movedim(self.axis, 1)
            activations.append(own.clone() if replaced is None else own)
            # a copy: the next layer may write over what it is given
            return None if replaced is None else _alike(replaced, own).movedim(1, self.axis).clone()

        handle = self.layer.register_forward_hook(hook)
        try:
            outputs = self.network(images)
        finally:
            handle.remove()
        if len(activations) != 1:
            got = f"called {len(activations)} times in one pass"
            raise EvidenceError("layer", got, "a layer that is used once")
        if getattr(outputs, "ndim", 0) != 2:
            raise EvidenceError("network", type(outputs).__name__, "scores, samples x classes")
        return outputs, activations[0]

    def _derivative(self, images: Any, here: Any, step: Any) -> tuple[Any, Any]:
        """The outputs, and how they change along a step of the activations."""
        import torch  # noqa: PLC0415
        from torch.autograd import forward_ad  # noqa: PLC0415
        from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: PLC0415

        forward: Any = forward_ad  # torch has no types for it
        with sdpa_kernel(SDPBackend.MATH):  # the fast kernels of attention have one derivative
            try:
                with forward.dual_level():
                    with warnings.catch_warnings():  # torch's own, when it first does this
                        warnings.simplefilter("ignore", DeprecationWarning)
                        moving = forward.make_dual(here, step)
                    value, change = forward.unpack_dual(self._run(images, moving)[0])
            except NotImplementedError:  # an operation without forward mode
                with torch.enable_grad():
                    start = here.detach().requires_grad_()
                    value = self._run(images, start)[0]
                    weights = torch.zeros_like(value, requires_grad=True)
                    back = torch.autograd.grad(value, start, weights, create_graph=True)
                    change = torch.autograd.grad(back, weights, step)[0]
        return value.detach(), torch.zeros_like(value) if change is None else change.detach()


def _alike(activations: Any, own: Any) -> Any:
    if activations.shape != own.shape:
        got, needed = (
            f"shape {tuple(activations.shape)}",
            f"{tuple(own.shape)}, as the layer gives them",
        )
        raise EvidenceError("activations", got, needed)
    return activations
