#!/bin/sh
# Runs once, when the database's volume is new.
set -eu
for name in owner_password server_password; do
    [ "$(wc -c < "/run/secrets/$name")" -ge 20 ] || { echo "$name is missing or short" >&2; exit 1; }
done
# by the environment: anybody can read a command line
OWNER_PASSWORD="$(cat /run/secrets/owner_password)"
SERVER_PASSWORD="$(cat /run/secrets/server_password)"
export OWNER_PASSWORD SERVER_PASSWORD
psql --quiet --no-psqlrc --username "$POSTGRES_USER" --dbname postgres \
    --set database=theodolite --file /roles.sql
