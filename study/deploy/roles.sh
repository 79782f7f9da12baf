#!/bin/sh
# Runs once, when the database's volume is new.
set -eu
for name in owner server desk jobs; do
    file="/run/secrets/${name}_password"
    [ "$(wc -c < "$file")" -ge 20 ] || { echo "$file is missing or short" >&2; exit 1; }
done
# by the environment: anybody can read a command line
OWNER_PASSWORD="$(cat /run/secrets/owner_password)"
SERVER_PASSWORD="$(cat /run/secrets/server_password)"
DESK_PASSWORD="$(cat /run/secrets/desk_password)"
JOBS_PASSWORD="$(cat /run/secrets/jobs_password)"
export OWNER_PASSWORD SERVER_PASSWORD DESK_PASSWORD JOBS_PASSWORD
psql --quiet --no-psqlrc --username "$POSTGRES_USER" --dbname postgres \
    --set database=theodolite --file /roles.sql
