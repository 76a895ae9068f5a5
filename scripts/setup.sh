#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs the Debian packages that Spirkiln is built from, and nothing when all are there.
# Tested on Debian 12; written for Debian 13 and Ubuntu 24.04 as well (untested there).
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: scripts/setup.sh [--check] [--lint] [--fuzz] [--cross]

Installs what the build, the main job and the tests need, with apt-get, as root or through sudo.
On Debian 12, Catch2 3, Meson and the lavapipe driver come from bookworm-backports, which is
added from this machine's own package source. Everything is said on stderr.

  --check   change nothing: report what is missing, exit 1 if something is
  --lint    also the format and lint tools that the test command uses
  --fuzz    also the compiler and its run-time library that scripts/fuzz uses
  --cross   also what scripts/cross-aarch64 needs
  --help    this text
USAGE
}

say() { printf 'setup: %s\n' "$*" >&2; }
die() { printf 'setup: error: %s\n' "$*" >&2; exit 1; }

check_only=no
lint=no
fuzz=no
cross=no
for arg in "$@"; do
  case $arg in
    --check) check_only=yes ;;
    --lint) lint=yes ;;
    --fuzz) fuzz=yes ;;
    --cross) cross=yes ;;
    -h | --help) usage; exit 0 ;;
    *) die "unknown option '$arg' (see --help)" ;;
  esac
done

command -v dpkg-query >/dev/null || die "no dpkg-query here: this script knows Debian and Ubuntu only; \
the package names in it say what to install elsewhere"

# One package a word; NAME>=VERSION where an older one is known not to do.
packages=(
  # compiler and build
  g++ pkg-config git ninja-build 'meson>=1.1' cmake binutils xz-utils zstd
  # generator: GLSL front end, optimiser, validator, cross compiler (dump), second compiler
  glslang-dev glslang-tools glslc spirv-tools spirv-headers libspirv-cross-c-shared-dev
  # programs and formats
  libcli11-dev libfmt-dev libtomlplusplus-dev libzstd-dev libxxhash-dev libutf8proc-dev
  # runtime: headers, loader, a driver that needs no GPU, validation
  libvulkan-dev libvulkan1 vulkan-tools vulkan-validationlayers 'mesa-vulkan-drivers'
  # OCR pipeline, CPU backend, model packer
  libopencv-core-dev libopencv-imgproc-dev libopencv-imgcodecs-dev libjpeg-dev libdnnl-dev
  libprotobuf-dev protobuf-compiler libonnx-dev
  # tests and the pages that they read
  'catch2>=3' python3 python3-pil python3-jsonschema libxml2-utils
  fonts-dejavu-core fonts-liberation fonts-wqy-microhei fonts-wqy-zenhei
)
# The formatter's version is pinned: another one lays out the same code differently.
if [[ $lint == yes ]]; then packages+=(clang-format-19 clang-tidy-19 shellcheck); fi
if [[ $fuzz == yes ]]; then packages+=(clang-19 libclang-rt-19-dev); fi
if [[ $cross == yes ]]; then packages+=(g++-aarch64-linux-gnu qemu-user); fi
# Debian's npm conflicts with an upstream Node, so any npm that is there already is used.
if ! command -v npm >/dev/null; then packages+=(npm); fi

# shellcheck source=/dev/null
. /etc/os-release
backports=
case "${ID:-}:${VERSION_ID:-}" in
  debian:12)
    backports=bookworm-backports
    # Debian 12's own lavapipe (22.3) lacks what the 16-bit variants need.
    packages=("${packages[@]/#mesa-vulkan-drivers/mesa-vulkan-drivers>=25}")
    ;;
  debian:13) ;;
  ubuntu:24.04) say "Ubuntu 24.04 is written for but untested" ;;
  *) say "${PRETTY_NAME:-this system} is unknown to this script; trying the Debian names" ;;
esac

# Fills missing (not there) and outdated (there, but too old) in one dpkg-query call.
missing=()
outdated=()
find_missing() {
  local -A have=()
  local name version status spec least
  missing=()
  outdated=()
  while read -r status version name; do
    if [[ $status == installed ]]; then have[$name]=$version; fi
  done < <(dpkg-query -W -f '${db:Status-Status} ${Version} ${Package}\n' \
    "${packages[@]%%>=*}" 2>/dev/null || true)
  for spec in "${packages[@]}"; do
    name=${spec%%>=*}
    least=
    if [[ $spec == *'>='* ]]; then least=${spec##*>=}; fi
    version=${have[$name]-}
    if [[ -z $version ]]; then
      missing+=("$name")
    elif [[ -n $least ]] && dpkg --compare-versions "$version" lt "$least"; then
      outdated+=("$name")
    fi
  done
}

find_missing
if [[ $check_only == yes ]]; then
  for name in "${missing[@]}"; do say "missing: $name"; done
  for name in "${outdated[@]}"; do say "too old: $name"; done
  if ((${#missing[@]} + ${#outdated[@]})); then exit 1; fi
  say "everything is installed"
  exit 0
fi
# Debian 12's own compiler knows no cooperative matrices. Kernels that need them are left out without.
newer_compiler() {
  if [[ ${ID:-}:${VERSION_ID:-} == debian:12 ]] &&
    ! "$(dirname "${BASH_SOURCE[0]}")/fetch-glslc.sh" >/dev/null; then
    say "no newer glslc: kernels by cooperative matrices are left out (scripts/fetch-glslc.sh)"
  fi
}
if ((${#missing[@]} + ${#outdated[@]} == 0)); then
  newer_compiler
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  command -v sudo >/dev/null || die "packages are missing (${missing[*]} ${outdated[*]}): \
run this as root, or install sudo"
  as_root=(sudo)
fi

apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
    -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 "$@" </dev/null >&2
}

# shellcheck source=scripts/apt-source.sh
. "$(dirname "${BASH_SOURCE[0]}")/apt-source.sh"

added=/etc/apt/sources.list.d/spirkiln-backports.sources
if [[ -n $backports ]]; then
  entry=$(source_entry_for "${backports%-backports}" "$backports") ||
    die "no package source for ${backports%-backports} in /etc/apt to copy for $backports: \
add $backports by hand and run this again"
  if [[ -n $entry ]]; then
    say "adding $backports in $added"
    printf '# Written by scripts/setup.sh from the entry for %s.\n%s\n' \
      "${backports%-backports}" "$entry" | "${as_root[@]}" tee "$added" >/dev/null
  fi
fi

say "installing: ${missing[*]} ${outdated[*]}"
apt update || die "apt-get update failed (see above)"

from_release=()
from_backports=()
for name in "${missing[@]}" "${outdated[@]}"; do
  if [[ -n $backports && $name =~ ^(catch2|meson|mesa-vulkan-drivers)$ ]]; then
    from_backports+=("$name")
  else
    from_release+=("$name")
  fi
done
if ((${#from_release[@]})); then
  apt install --no-install-recommends "${from_release[@]}" || die "apt-get install failed (see above)"
fi
if ((${#from_backports[@]})); then
  apt install --no-install-recommends -t "$backports" "${from_backports[@]}" ||
    die "apt-get install from $backports failed (see above)"
fi

hash -r
find_missing
if ((${#missing[@]} + ${#outdated[@]})); then
  die "still missing or too old after the installation: ${missing[*]} ${outdated[*]}"
fi
newer_compiler
say "done"
