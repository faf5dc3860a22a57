#!/bin/sh
# Makes the secrets that are missing, then starts everything in the order of its needs. Further arguments go to
# `docker compose up`. The folder of the secrets is private; the files in it are readable, for the users of the containers.
set -eu
cd "$(dirname "$0")"
umask 077
mkdir -p secrets
secret() { # NAME [VALUE]: a random value, unless one is given
    [ -s "secrets/$1" ] && return
    if [ $# -gt 1 ]; then value=$2; else value=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n'); fi
    printf '%s\n' "$value" > "secrets/$1"
    chmod 0444 "secrets/$1"
}
secret postgres_password
secret redis_password
secret s3_key
secret s3_secret
secret key_pepper
secret grafana_password
secret database_url "postgresql://reelstate:$(cat secrets/postgres_password)@postgres/reelstate"
secret redis_url "redis://:$(cat secrets/redis_password)@redis:6379/0"
[ "${1:-}" = --secrets-only ] && exit
exec docker compose up --detach --build "$@"
