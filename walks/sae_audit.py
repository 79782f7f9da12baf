"""A SAELens folder and a network, from the command to pages (needs theodolite[language]).

The network and the dictionary have weights as they were drawn, so nothing was learned: no concept
may be told at a false discovery rate of 5 %, and no latent may cause one. One latent is planted: it
reads and writes the direction of the word w7.
"""

import contextlib
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet  # noqa: TID251  as others read them
import tokenizers
import torch
import transformers
from safetensors.torch import save_file  # noqa: TID251  as others write them

from theodolite.cli import main

LATENTS, TEXTS = map(int, sys.argv[1:3] or (256, 120))  # or larger: 24576 4000
folder = Path(tempfile.mkdtemp())
words = [f"w{n}" for n in range(300)]
ids = {word: number for number, word in enumerate(["<s>", *words, "<unk>"])}
model = tokenizers.Tokenizer(tokenizers.models.WordLevel(ids, unk_token="<unk>"))  # noqa: S106
model.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
special = {"bos_token": "<s>", "unk_token": "<unk>"}
transformers.PreTrainedTokenizerFast(tokenizer_object=model, **special).save_pretrained(
    folder / "net"
)
torch.manual_seed(0)
config = transformers.GPT2Config(
    vocab_size=len(ids),
    n_embd=64,
    n_layer=2,
    n_head=2,
    n_positions=40,
    bos_token_id=0,
    eos_token_id=0,
)
net = transformers.GPT2LMHeadModel(config)
net.save_pretrained(folder / "net")

# a dictionary as SAELens writes it, with the place that it is of
rows = torch.randn(LATENTS, 64)
rows[0] = net.lm_head.weight[ids["w7"]].detach()
rows = torch.nn.functional.normalize(rows)
(folder / "sae").mkdir()
arrays = {"W_enc": rows.T.contiguous(), "W_dec": rows / 40, "b_enc": torch.zeros(LATENTS)}
save_file({**arrays, "b_dec": torch.zeros(64)}, folder / "sae" / "sae_weights.safetensors")
place = {"hook_name": "blocks.0.hook_resid_post", "prepend_bos": True}
settings = {"architecture": "topk", "k": 32, "metadata": place}
(folder / "sae" / "cfg.json").write_text(json.dumps(settings))

random = np.random.default_rng(0)
texts = [random.choice(words, 12) for _ in range(TEXTS)]
concepts = {f"any of ten, {n}": {*words[10 * n : 10 * n + 10]} for n in range(2)}
lines = ["\t".join(["text", *concepts]).replace(",", "").replace("\t", ",")]
lines += [
    ",".join([" ".join(t), *(str(int(bool({*t} & own))) for own in concepts.values())])
    for t in texts
]
(folder / "texts.csv").write_text("\n".join(lines))

sys.argv = (
    ["theodolite", "sae", "audit", str(folder / "net"), "--module",
     "blocks.0.hook_resid_post", "--texts", str(folder / "texts.csv"), "--sae", str(folder / "sae"),
     "--out", str(folder / "run"), "--cache", str(folder / "cache"), "--steps", "5",
     "--resamples", "50", "--causal", "--spliced-sequences", "8", "--quiet"]
)  # fmt: skip
with contextlib.suppress(SystemExit):  # as the command `theodolite` does it
    main()
produced = json.loads((folder / "run" / "produced.json").read_text())
facts = dict(produced["facts"])
print(facts)
assert facts["latents"] == LATENTS
assert facts["concepts told"] == "0 of 2 concepts at a false discovery rate of 5 %"
file = folder / "run" / "tables" / "concepts.parquet"
table = pyarrow.parquet.read_table(file).to_pydict()  # noqa: TID251
assert table["draws"] == [20] * 2
assert "yes" not in table["answer"]
file = folder / "run" / "tables" / "causal_effects.parquet"
file = folder / "run" / "tables" / "causal_effects.parquet"
effects = pyarrow.parquet.read_table(file)  # noqa: TID251
assert "yes" not in effects.to_pydict()["answer"]
assert facts["attributions against ablations, rank correlation"] > 0.9
assert "concepts told" in (folder / "run" / "report.html").read_text().lower()

# a page of each latent; the planted one makes its word probable
logits = pyarrow.parquet.read_table(folder / "run" / "tables" / "logits.parquet")  # noqa: TID251
own = [row for row in logits.to_pylist() if row["latent"] == 0]
assert own[0]["token"] == ids["w7"], own[0]
pages = folder / "run" / facts["pages of latents"]
weight = sum(path.stat().st_size for path in pages.parent.rglob("*") if path.is_file())
print(f"{pages}: {LATENTS:,} latents in {weight / 1e6:.1f} MB")
assert weight < 4_000 * LATENTS + 500_000
