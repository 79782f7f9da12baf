"""Any text as LaTeX that compiles, whatever characters it has."""

import re
import unicodedata

from theodolite.errors import printable

SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\char34{}",
    "[": "{[}", "*": "{*}",
}  # fmt: skip
"""Characters with a meaning of their own; the last two have one after the end of a row."""
SIGNS = {
    "×": r"$\times$", "−": "$-$", "–": r"\textendash{}", "—": r"\textemdash{}", "…": r"\ldots{}",
    "’": "'", "‘": "`", "“": "``", "”": "''", "±": r"$\pm$", "≤": r"$\leq$", "≥": r"$\geq$",
    "≈": r"$\approx$", "→": r"$\to$", "·": r"$\cdot$", "∞": r"$\infty$", "\u00a0": "~",
    "°": r"$^{\circ}$", "²": "$^{2}$", "³": "$^{3}$", "½": "$1/2$", "€": r"\texteuro{}",
}  # fmt: skip
GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ζ": "zeta", "η": "eta",
    "θ": "theta", "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi",
    "π": "pi", "ρ": "rho", "σ": "sigma", "τ": "tau", "υ": "upsilon", "φ": "phi", "χ": "chi",
    "ψ": "psi", "ω": "omega", "Γ": "Gamma", "Δ": "Delta", "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi",
    "Π": "Pi", "Σ": "Sigma", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega",
}  # fmt: skip
LAST_LATIN = "\u017f"
"""Letters up to here are known to every LaTeX that reads UTF-8."""


def latex_text(text: str) -> str:
    r"""The text with everything escaped; what no usual font has is named by its number.

    >>> latex_text("50 % of a_b & α 猫")
    '50 \\% of a\\_b \\& $\\alpha$ \\texttt{U+732B}'
    """
    composed = unicodedata.normalize("NFC", printable(text, 2000))
    return re.sub("-(?=-)", "-{}", "".join(map(_character, composed)))  # two would be a dash


def _character(character: str) -> str:
    if character in SPECIAL or character in SIGNS:
        return SPECIAL.get(character) or SIGNS[character]
    if character in GREEK:
        return f"$\\{GREEK[character]}$"
    is_letter = unicodedata.category(character).startswith("L")
    if character.isascii() or (is_letter and character <= LAST_LATIN and character not in "ªº"):
        return character
    return f"\\texttt{{U+{ord(character):04X}}}"
