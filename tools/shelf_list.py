"""Write models.json of the shelf from its cards.

python -m tools.shelf_list
"""

import json
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "models" / "src" / "theodolite_models"


def main() -> None:
    """List the digest and size of each network's weights."""
    cards = [json.loads(path.read_text()) for path in sorted(PACKAGE.glob("shelf/*/card.json"))]
    listed = {card["name"]: {"sha256": card["sha256"], "bytes": card["bytes"]} for card in cards}
    (PACKAGE / "models.json").write_text(json.dumps(listed, indent=1) + "\n")


if __name__ == "__main__":
    main()
