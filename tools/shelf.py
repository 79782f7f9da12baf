"""Write models.json and the page docs/models.md from the cards of the shelf.

python -m tools.shelf
"""

import json
from pathlib import Path

from theodolite.models.shelf import CARD, WEIGHTS, ModelCard, read_card
from theodolite_models import SHELF
from theodolite_models.recipes import RECIPES

PAGE = Path(__file__).parents[1] / "docs" / "models.md"
HEAD = """\
<!-- Written by `python -m tools.shelf` from the cards. -->
# Models with cards

This page lists small trained networks to try explanations on. They come with the package `theodolite-models`. Each has a card: data, split, training procedure, seed, CPU time, test accuracy and license.

```console
$ pip install 'theodolite-models[all]'
$ theodolite models list
$ theodolite models info dsprites-cnn-soft
$ theodolite audit --model shelf:dsprites-cnn-soft --data DATA --out runs/mine
```

To train a network again by its recipe, run `theodolite models train NAME --seed 0`. The same command resumes a training that was interrupted. Networks for MonuMAI need `--data`, the folder that `theodolite data get monumai --to DIR` writes.

## Accuracy and cost

Accuracy is that of the classes on test images, with its 95 % CI (Wilson). It is measured on the network as it is loaded, with weights in half precision. CPU time is that of training and test on one thread. Images per second is the speed of classification on one thread. Other work ran on the same two cores, so times vary between runs.

"""  # noqa: E501  a paragraph is one line
CONCEPTS = """
## Concepts

The names end in what the class layer is given: the probability of each concept (`soft`), its logit (`logit`), 0 or 1 (`hard`), or a mixture of two vectors (`cem`). Accuracy is the percentage of test images on which a concept is predicted as it is labeled. AUC is the area under the ROC curve.

| model | mean accuracy | mean AUC | concepts with the lowest accuracy |
|---|---|---|---|
"""  # noqa: E501  a paragraph is one line
NOTES = """
- dSprites is rendered again. It is not the official file.
- *Turned by less than half* is hard by construction: squares and ellipses look almost the same after half a turn. The label depends on it, so class accuracy without it is at most about 67 %.
- *Rendered rooms* come from our own renderer. They are not the data set 3dshapes. CPU time limited training to three epochs of 8,000 images.
- `monumai-cbm-*` train a concept layer and a class layer on EfficientNet-lite0, whose own layers stay frozen. The CPU time of `monumai-cbm-soft` includes their pass over the training images, which the others reuse.
- Weights for CIFAR-10 were published by Idelbayev (pytorch_resnet_cifar10, BSD-2-Clause) and are not included: pass `--weights`. Nothing was trained here. They were measured on 4,000 test images that were saved as JPEG, which costs accuracy.
- One seed and one split per network. Validation images chose the epoch of the concept bottlenecks; the last epoch of `monumai-lite0` was taken. Test images chose nothing.
"""  # noqa: E501  a paragraph is one line


def list_weights(cards: list[ModelCard]) -> str:
    """Return the digest and size of each network's weights as JSON."""
    listed = {card.name: {"sha256": card.sha256, "bytes": card.bytes} for card in cards}
    return json.dumps(listed, indent=1) + "\n"


def write_page(cards: list[ModelCard]) -> str:
    """Return the page of all networks."""
    lines = [
        "| model | data | architecture | accuracy | n | CPU min | images/s | MB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for card in cards:
        own = card.accuracy
        interval = f"(95 % CI {100 * own.low:.1f}–{100 * own.high:.1f} %)"
        stored = (SHELF / card.name / WEIGHTS).is_file()
        size = f"{card.bytes / 1e6:.1f}" if stored else "recipe only"
        lines.append(
            f"| `{card.name}` | {card.data.name} | {card.architecture} | "
            f"{100 * own.value:.1f} % {interval} | {own.n:,} | {card.cpu_minutes:g} | "
            f"{card.images_per_second:,.0f} | {size} |"
        )
    missing = sorted(set(RECIPES) - {card.name for card in cards})
    names = ", ".join(f"`{name}`" for name in missing)
    more = f"\nRecipes without a card, which we have not trained: {names}.\n" if missing else ""
    rows = [_concept_row(card) for card in cards if card.concepts]
    return HEAD + "\n".join(lines) + "\n" + more + CONCEPTS + "\n".join(rows) + "\n" + _notes(cards)


def _concept_row(card: ModelCard) -> str:
    accuracy, auc = card.concept_accuracy, card.concept_auc
    lowest = sorted(accuracy, key=lambda name: accuracy[name])[:3]
    worst = ", ".join(f"{name} {100 * accuracy[name]:.1f} %" for name in lowest)
    means = (sum(values.values()) / len(values) for values in (accuracy, auc))
    return f"| `{card.name}` | {' | '.join(f'{100 * mean:.1f} %' for mean in means)} | {worst} |"


def _notes(cards: list[ModelCard]) -> str:
    file = SHELF.parent / "repeated.json"
    if not file.exists():
        return NOTES
    repeated = json.loads(file.read_text("utf-8"))
    card = next(card for card in cards if card.name == repeated["name"])
    moved = max(
        abs(value - card.concept_accuracy[name])
        for name, value in repeated["concept_accuracy"].items()
    )
    text = (
        f"- `{card.name}` was trained twice with seed {card.seed} on the same machine. The largest "
        f"difference of a concept's accuracy is {100 * moved:.2f} pp"
        f"{', as the weights are equal' if repeated['weights_equal'] else ''}. "
        "Other networks have no second training here.\n"
    )
    return NOTES + text


def read_cards() -> list[ModelCard]:
    """Return the cards of the package."""
    return [read_card(path.parent) for path in sorted(SHELF.glob(f"*/{CARD}"))]


if __name__ == "__main__":
    own = read_cards()
    (SHELF.parent / "models.json").write_text(list_weights(own), encoding="utf-8")
    PAGE.write_text(write_page(own), encoding="utf-8")
