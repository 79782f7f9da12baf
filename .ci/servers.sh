#!/usr/bin/env bash
# A browser and a database, if the machine has none: each test starts its own, on a port of its own.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
has() { command -v "$1" >/dev/null; }
has_postgres() { compgen -G "/usr/lib/postgresql/*/bin/initdb" >/dev/null || has initdb; }
install() { apt-get install -y -qq "$@" >/dev/null; }

if ! has chromium-headless-shell || ! has_postgres || ! has nginx || ! has pgbouncer; then
  apt-get update -qq || has chromium  # a machine without a network may have what is needed
fi
# the whole browser draws windows that nobody sees: twice the CPU; where there is no other, it does
has chromium-headless-shell || install chromium-headless-shell || has chromium || install chromium
has_postgres || install postgresql
# what stands before a server and its database: small; their tests are skipped without them
has nginx && has pgbouncer || install nginx-light pgbouncer || true
echo "Chromium and PostgreSQL are there"
