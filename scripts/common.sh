# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Shared by the commands in this folder; sourced, never run. Expects `me` (the command's name).

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${SPIRKILN_BUILD:-$root/build}

say() { printf '%s: %s\n' "${me:?}" "$*" >&2; }
die() { printf '%s: error: %s\n' "${me:?}" "$*" >&2; exit 1; }

# The folder of everything that is fetched or cached, absolute.
cache_folder() {
  local folder=${SPIRKILN_CACHE:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/spirkiln}
  if [[ $folder == /* ]]; then printf '%s\n' "$folder"; else printf '%s\n' "$PWD/$folder"; fi
}

# For scripts that fetch, each with its usage(): sets `check_only` to yes or no.
# shellcheck disable=SC2034
fetch_options() {
  local arg
  check_only=no
  for arg in "$@"; do
    case $arg in
      --check) check_only=yes ;;
      -h | --help) usage; exit 0 ;;
      *) die "unknown option '$arg' (see --help)" ;;
    esac
  done
}

# Installs what is missing (with "$@" for setup.sh), fetches the models, configures the build.
# Silent and quick where all that is done.
prepare() {
  "$root/scripts/setup.sh" "$@" || die "the set-up failed"
  local models
  models=$("$root/scripts/fetch-models.sh") || die "the models could not be fetched"
  if [[ ! -f $build/build.ninja ]]; then
    say "configuring $build"
    meson setup "$build" "$root" -Dmodels="$models" </dev/null >&2 || die "meson setup failed"
  elif [[ $(cat "$build/models-folder" 2>/dev/null) != "$models" ]]; then
    say "the models are now in $models"
    meson configure "$build" -Dmodels="$models" </dev/null >&2 || die "meson configure failed"
  else
    return 0
  fi
  printf '%s\n' "$models" >"$build/models-folder"
}

# The same with clang-19, in `build` as it is now, with "$@" for Meson: for sanitizers and fuzzers.
configure_clang() {
  [[ ! -f $build/build.ninja ]] || return 0
  local cache=''
  if command -v ccache >/dev/null; then cache='ccache '; fi
  say "configuring $build"
  CC="${cache}clang-19" CXX="${cache}clang++-19" meson setup "$build" "$root" -Db_lundef=false \
    -Doptimization=1 -Ddebug=true "$@" </dev/null >&2 || die "meson setup failed"
}

# Builds the given targets; says nothing where there is nothing to do.
build_targets() {
  if [[ $(ninja -C "$build" -n "$@" 2>/dev/null) == *'no work to do'* ]]; then return 0; fi
  say "building"
  ninja -C "$build" "$@" </dev/null >&2 || die "the build failed"
}

# Puts the packed models where spirkiln-ocr looks without being told (the cache folder), each by
# one rename and only where it differs.
publish_packs() {
  local to file name
  to=$(cache_folder)/packs
  mkdir -p "$to" || die "cannot make the folder $to"
  for file in "$build"/tools/packs/*.spkm "$build"/tools/packs/ppocr_keys_v1.txt; do
    name=${file##*/}
    if ! cmp -s "$file" "$to/$name"; then
      cp "$file" "$to/.$name.$$" || die "cannot write in $to"
      mv -f "$to/.$name.$$" "$to/$name" || die "cannot write $to/$name"
    fi
  done
}
