#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The main job by one command: whatever set-up is missing, then text out of pictures.
set -euo pipefail
me=ocr
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat <<'USAGE'
Usage: scripts/ocr.sh [PICTURE...] [OPTION...]

Installs what is missing, fetches the models, bakes the kernels, builds and reads the pictures.
Recognised lines are all that goes to stdout. Options go to spirkiln-ocr (its own --help lists
them). Without an argument it reads a page that it renders itself.
USAGE
}
if [[ $# -eq 1 && ($1 == -h || $1 == --help) && ! -x $build/tools/ocr/spirkiln-ocr ]]; then
  usage
  exit 0
fi

# shellcheck disable=SC2119  # not this script's arguments
prepare
build_targets main-job packs

publish_packs
export SPIRKILN_MODELS=${SPIRKILN_MODELS:-$build/tools/packs}

if (($# == 0)); then
  sample=$build/sample/sample.png
  if [[ ! -f $sample ]]; then
    say "no picture was named: rendering a sample page"
    "$root/scripts/make-pages" --sample --out "${sample%/*}" </dev/null >&2 ||
      die "the sample page could not be rendered"
  fi
  set -- "$sample"
fi
exec "$build/tools/ocr/spirkiln-ocr" "$@"
