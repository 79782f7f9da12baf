"""Ask a SAELens object in memory, without saving it (needs theodolite[language] and sae-lens).

The network is a small GPT-2 with weights as they were drawn; the concept is a word of the text, so
random directions tell it too, and the answer must not be that this dictionary adds something.
"""

import numpy as np
import torch
import transformers
from sae_lens.saes import TopKSAE, TopKSAEConfig

import theodolite

torch.manual_seed(0)
config = transformers.GPT2Config(vocab_size=200, n_embd=32, n_layer=2, n_head=2, n_positions=16)
network = transformers.GPT2Model(config).eval()
random = np.random.default_rng(0)
tokens = random.integers(1, 200, (300, 10))
truth = (tokens < 12).any(axis=1)[:, None]
with torch.no_grad():
    hidden = network(torch.as_tensor(tokens), output_hidden_states=True).hidden_states[1]

sae = TopKSAE(TopKSAEConfig(d_in=32, d_sae=256, k=4))
with torch.no_grad():
    sae.W_enc.copy_(torch.randn(32, 256))
    sae.W_dec.copy_(sae.W_enc.T)

# the object as it is: theodolite asks for encode and decode, and reads its settings
dictionary = theodolite.dictionary(sae)
assert (dictionary.latents, dictionary.dimensions) == (256, 32)
evidence = theodolite.dictionary_evidence(
    dictionary, list(hidden.numpy()), tokens, truth, concepts=["one of eleven words"]
)
result = theodolite.audit(evidence, resamples=200)
print(result)
assert result.verdicts["exists"].answer != "yes", result
