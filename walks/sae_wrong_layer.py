"""A dictionary of one layer, put to another (needs theodolite[language]).

With the name of its place in the file it is refused; without, the report says at its head that
it rebuilds too little. So it does of one whose decoder is three times too large.
"""

import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import tokenizers
import torch
import transformers
from safetensors.torch import save_file  # noqa: TID251  as others write them

from theodolite.cli import main

folder = Path(tempfile.mkdtemp())
words = [f"w{n}" for n in range(60)]
ids = {word: number for number, word in enumerate(["<s>", *words, "<unk>"])}
model = tokenizers.Tokenizer(tokenizers.models.WordLevel(ids, unk_token="<unk>"))  # noqa: S106
model.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
fast = transformers.PreTrainedTokenizerFast(
    tokenizer_object=model,
    bos_token="<s>",  # noqa: S106
    unk_token="<unk>",  # noqa: S106
)
fast.save_pretrained(folder / "net")
torch.manual_seed(0)
config = transformers.GPT2Config(
    vocab_size=len(ids), n_embd=32, n_layer=3, n_head=2, n_positions=32, initializer_range=0.3
)
net = transformers.GPT2LMHeadModel(config).eval()
net.save_pretrained(folder / "net")

random = np.random.default_rng(0)
texts = [" ".join(random.choice(words, 8)) for _ in range(60)]
lines = [f"{text},{int('w1' in text.split() or 'w2' in text.split())}" for text in texts]
(folder / "texts.csv").write_text("\n".join(["text,early word", *lines]))

# train a small dictionary on the first block's output and save it as SAELens does
with torch.no_grad():
    numbers = torch.tensor(fast([f"<s> {text}" for text in texts])["input_ids"])
    hidden = net(numbers, output_hidden_states=True).hidden_states[1][:, 1:].reshape(-1, 32)
mean = hidden.mean(0)
rows = torch.nn.Parameter(torch.nn.functional.normalize(torch.randn(128, 32)))
read = torch.nn.Parameter(rows.detach().T.clone())
optimizer = torch.optim.Adam([rows, read], lr=3e-3)
for _ in range(500):
    batch = hidden[torch.randint(len(hidden), (256,))]
    top = ((batch - mean) @ read).topk(8)
    codes = torch.zeros(256, 128).scatter(1, top.indices, top.values.relu())
    loss = ((codes @ rows + mean - batch) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def save(name: str, factor: float = 1.0, **metadata: str) -> Path:
    (folder / name).mkdir()
    arrays = {"W_enc": read, "W_dec": factor * rows, "b_dec": mean, "b_enc": torch.zeros(128)}
    plain = {key: value.detach().clone().contiguous() for key, value in arrays.items()}
    save_file(plain, folder / name / "sae_weights.safetensors")
    settings = {"architecture": "topk", "k": 8, "apply_b_dec_to_input": True}
    (folder / name / "cfg.json").write_text(json.dumps({**settings, "metadata": metadata}))
    return folder / name


def audit(sae: Path, module: str) -> tuple[str, str]:
    """Run the command; return its errors, and the notes at the head of the report."""
    out = folder / f"{sae.name} at {module}"
    sys.argv = (
        ["theodolite", "sae", "audit", str(folder / "net"), "--module", module, "--texts",
         str(folder / "texts.csv"), "--sae", str(sae), "--out", str(out), "--cache",
         str(folder / "cache"), "--steps", "2", "--resamples", "20", "--random-dictionaries", "2",
         "--exploratory", "--no-pages", "--spliced-sequences", "4", "--quiet"]
    )  # fmt: skip
    with contextlib.redirect_stderr(io.StringIO()) as errors, contextlib.suppress(SystemExit):
        main()  # as the command `theodolite` does it
    produced = out / "produced.json"
    notes = json.loads(produced.read_text())["notes"] if produced.exists() else []
    return errors.getvalue(), " ".join(notes)


named, silent, large = (
    save("named", hook_name="blocks.0.hook_resid_post"),
    save("silent"),
    save("large", 3.0),
)
errors, _ = audit(named, "transformer.h.2")
assert "'blocks.0.hook_resid_post', as the dictionary's file says" in errors, errors
_, notes = audit(silent, "blocks.2.hook_resid_post")
assert "wrong place, scale or file?" in notes, notes
_, notes = audit(large, "transformer.h.0")
assert notes.startswith("The mean activation rebuilds better than the dictionary"), notes
print("a wrong layer is refused by name, and found without")
