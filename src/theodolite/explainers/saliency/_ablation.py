"""Layer wrappers for Ablation-CAM that ablate one channel at a time. Used by `_cams`."""

from typing import TYPE_CHECKING, Any

from theodolite.explainers.saliency._places import Place

if TYPE_CHECKING:
    import torch


def make_ablation_layer(library: Any, place: Place, *, zero: bool) -> Any:
    """Return the layer that grad-cam inserts in place of the explained one.

    Ablation-CAM sets a channel to 0. The library's own layer does so only if the smallest output of
    the layer is 0. Otherwise it sets the channel far below the smallest output (by 1e7), which
    dominates all later layers.
    """
    if not zero:
        return library.AblationLayerVit() if place.channels == -1 else library.AblationLayer()

    class Zeroing(library.AblationLayer):  # type: ignore[misc]
        def set_next_batch(
            self, input_batch_index: int, activations: "torch.Tensor", num_channels_to_ablate: int
        ) -> None:
            sample = activations[input_batch_index : input_batch_index + 1]
            self.activations = sample.repeat_interleave(num_channels_to_ablate, dim=0)

        def __call__(self, _: Any) -> "torch.Tensor":
            output: torch.Tensor = self.activations
            for row, channel in zip(output, self.indices, strict=False):
                row.movedim(place.channels if place.channels == -1 else 0, 0)[int(channel)] = 0
            return output

    return Zeroing()


def restore_layer(network: "torch.nn.Module", stand_in: Any, layer: "torch.nn.Module") -> None:
    """Put the original layer back if it was replaced."""
    for module in network.modules():
        for name, child in module.named_children():
            if child is stand_in:
                setattr(module, name, layer)
