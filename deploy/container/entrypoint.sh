#!/bin/sh
# Reads secrets from files, then becomes the command. NAME_FILE names the file with the value of NAME, for these names;
# so no secret stands in a compose file, in a manifest or in `docker inspect`.
set -eu
for name in REEL_DATABASE_URL REEL_REDIS_URL REEL_KEY_PEPPER REEL_ALERT_URL REEL_ALERT_SECRET \
    AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY; do
    eval "file=\${${name}_FILE:-}"
    # shellcheck disable=SC2154 # eval sets it
    [ -n "$file" ] || continue
    value=$(cat -- "$file") || { echo "${name}_FILE: $file can't be read" >&2; exit 1; }
    export "$name=$value"
    unset "${name}_FILE"
done
exec "$@"
