#!/usr/bin/env bash
# The site, with warnings as errors; then nothing on it may be fetched, and every link must lead.
set -euo pipefail
cd "$(dirname "$0")/.."
export OMP_NUM_THREADS=1 MPLBACKEND=agg
site="${1:-$(mktemp -d)}"
rm -f docs/_made/gallery/images/thumb/*.png  # of examples that had no thumbnail of their own
sphinx-build -W --keep-going -q -b html docs "$site"
python docs/_ext/check_site.py "$site"
printf 'site: %s (%ss)\n' "$site" "$SECONDS"
