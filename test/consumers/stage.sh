# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by the checks here, never run. Expects `me`, `source`, `build` and `work`, absolute folders.

die() { printf '%s: error: %s\n' "${me:?}" "$*" >&2; exit 1; }

# Installs the build below $work/stage. Sets `pc` (the folder of .pc files) and `prefix`.
stage() {
  meson install -C "${build:?}" --no-rebuild --quiet --destdir "${work:?}/stage" >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; die "meson install failed"; }
  pc=$(find "$work/stage" -name spirkiln.pc -printf '%h' -quit)
  [[ -n $pc ]] || die "no spirkiln.pc was installed"
  prefix=$(PKG_CONFIG_PATH=$pc pkg-config --variable=prefix spirkiln)
  # The tree must stand on its own: nothing in it points into the source or build folder.
  if grep -rn -e "${source:?}" -e "$build" "$pc" "$pc/../cmake" | grep -v "$work"; then
    die "an installed file names this build"
  fi
}
