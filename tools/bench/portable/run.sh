#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What lies in a folder of scripts/portable-bench and runs on the device: every line of `commands`, or the
# one command that is given. Results go to results/, and .done, with the exit status, is the last thing
# that is written. Needs nothing but a POSIX shell.
#
#   ./run.sh                         all of `commands`
#   ./run.sh graph packs/det.spkm --shape 1x640x640 --json
cd "$(dirname "$0")" || exit 1
rm -rf .done results
mkdir -p results || exit 1
# Nothing outside of this folder is read or written.
SPIRKILN_CACHE=$PWD/cache
SPIRKILN_MODELS=$PWD/packs
export SPIRKILN_CACHE SPIRKILN_MODELS
chmod +x spirkiln-bench 2>/dev/null
status=0
failed=

# one NAME ARGUMENT...
one() {
  name=$1
  shift
  echo "$name: spirkiln-bench $*"
  ./spirkiln-bench "$@" >"results/$name.json" 2>"results/$name.err" </dev/null
  code=$?
  if [ "$code" -ne 0 ]; then
    echo "$name: exit status $code"
    sed 's/^/  /' "results/$name.err"
    status=1
    failed="$failed $name"
  fi
}

if [ $# -gt 0 ]; then
  one one "$@"
else
  # Words are split at blanks: no name in `commands` has any.
  while read -r name arguments; do
    case $name in '' | '#'*) continue ;; esac
    # shellcheck disable=SC2086
    one "$name" $arguments
  done <commands
fi
[ -z "$failed" ] || echo "failed:$failed"
# Whole or not there: whoever waits for it reads it at once.
echo "$status" >.done.part && mv .done.part .done
exit "$status"
