"""Networks that theodolite explains or fits: backbones from timm, image classifiers, CLIP pairs,
feature extraction, concept banks, post-hoc concept bottlenecks and learned surrogates."""
