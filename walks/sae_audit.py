"""A SAELens folder and a network, from the command to the report (needs theodolite[language]).

The network and the dictionary have weights as they were drawn, so nothing was learned: no concept
may be told at a false discovery rate of 5 %.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet  # noqa: TID251  as others read them
import tokenizers
import torch
import transformers
from safetensors.torch import save_file  # noqa: TID251  as others write them

LATENTS, TEXTS = 2_048, 300
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
    vocab_size=len(ids), n_embd=64, n_layer=2, n_head=2, n_positions=40
)
transformers.GPT2LMHeadModel(config).save_pretrained(folder / "net")

# a dictionary as SAELens writes it, with the place that it is of
rows = torch.nn.functional.normalize(torch.randn(LATENTS, 64))
(folder / "sae").mkdir()
arrays = {"W_enc": rows.T.contiguous(), "W_dec": rows / 40, "b_enc": torch.zeros(LATENTS)}
save_file({**arrays, "b_dec": torch.zeros(64)}, folder / "sae" / "sae_weights.safetensors")
place = {"hook_name": "blocks.0.hook_resid_post", "prepend_bos": True}
settings = {"architecture": "topk", "k": 32, "metadata": place}
(folder / "sae" / "cfg.json").write_text(json.dumps(settings))

random = np.random.default_rng(0)
texts = [random.choice(words, 16) for _ in range(TEXTS)]
concepts = {f"any of ten, {n}": {*words[10 * n : 10 * n + 10]} for n in range(4)}
lines = ["\t".join(["text", *concepts]).replace(",", "").replace("\t", ",")]
lines += [
    ",".join([" ".join(t), *(str(int(bool({*t} & own))) for own in concepts.values())])
    for t in texts
]
(folder / "texts.csv").write_text("\n".join(lines))

program = [sys.executable, "-c", "from theodolite.cli import main; main()", "sae", "audit"]
ran = subprocess.run(
    [*program, str(folder / "net"), "--module", "blocks.0.hook_resid_post", "--texts",
     str(folder / "texts.csv"), "--sae", str(folder / "sae"), "--out", str(folder / "run"),
     "--cache", str(folder / "cache"), "--steps", "5", "--resamples", "100",
     "--spliced-sequences", "8", "--quiet"],
    capture_output=True, text=True, check=False,
)  # fmt: skip
assert ran.returncode == 0, ran.stderr
produced = json.loads((folder / "run" / "produced.json").read_text())
facts = dict(produced["facts"])
print(facts)
assert facts["latents"] == LATENTS
assert facts["concepts told"] == "0 of 4 concepts at a false discovery rate of 5 %"
file = folder / "run" / "tables" / "concepts.parquet"
table = pyarrow.parquet.read_table(file).to_pydict()  # noqa: TID251
assert table["draws"] == [20] * 4
assert "yes" not in table["answer"]
assert "concepts told" in (folder / "run" / "report.html").read_text().lower()
