#!/usr/bin/env bash
# A browser, a database and a C compiler, if the machine has none: each test starts its own server, on
# a port of its own; the wheel compiles loops.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
has() { command -v "$1" >/dev/null; }
has_postgres() { compgen -G "/usr/lib/postgresql/*/bin/initdb" >/dev/null || has initdb; }
install() { apt-get install -y -qq "$@" >/dev/null; }

if ! has chromium-headless-shell || ! has_postgres || ! has nginx || ! has pgbouncer || ! has cc; then
  apt-get update -qq || has chromium  # a machine without a network may have what is needed
fi
# the whole browser draws windows that nobody sees: twice the CPU; where there is no other, it does
has chromium-headless-shell || install chromium-headless-shell || has chromium || install chromium
has_postgres || install postgresql
has cc || install gcc libc6-dev
# what stands before a server and its database: small; their tests are skipped without them
has nginx && has pgbouncer || install nginx-light pgbouncer || true
echo "Chromium, PostgreSQL and a C compiler are there"
