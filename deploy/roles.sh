#!/bin/sh
# Runs once, when the database's volume is new.
set -eu
for name in owner_password server_password; do
    [ "$(wc -c < "/run/secrets/$name")" -ge 20 ] || { echo "$name is missing or short" >&2; exit 1; }
done
psql --quiet --no-psqlrc --username "$POSTGRES_USER" --dbname postgres \
    --set database=theodolite \
    --set owner_password="$(cat /run/secrets/owner_password)" \
    --set server_password="$(cat /run/secrets/server_password)" \
    --file /roles.sql
