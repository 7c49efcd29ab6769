#!/bin/sh
# The entry point of the evaluation container. A platform reads the last line of stderr to its user.
set -eu
home=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
external=${GROUND_TRUTH:-/opt/ml/input/data/ground_truth}
if [ -d "$external" ] && [ -n "$(ls -A "$external")" ]; then
    set -- --truth "$external" "$@"
fi
exec histoeval challenge evaluate "$home" --input "${INPUT:-/input}" --output "${OUTPUT:-/output}" "$@"
