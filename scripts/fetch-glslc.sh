#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Fetches Debian 13's glslc and SPIR-V tools into a folder of their own and prints that folder. The
# packages and the package sources of this machine stay as they are.
set -euo pipefail
me='fetch-glslc'
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=scripts/apt-source.sh
. "$(dirname "${BASH_SOURCE[0]}")/apt-source.sh"

usage() {
  cat <<'USAGE'
Usage: scripts/fetch-glslc.sh [--check]

Fetches, with apt-get and from a copy of this machine's own package source, Debian 13's glslc,
spirv-opt, spirv-val and spirv-dis with the libraries and the dynamic loader that they run on, and
its Vulkan and SPIR-V headers; prints the folder that they are in. Neither root nor Debian 13 is
needed. apt-get checks each package against the signed index. Does nothing where the folder is
complete and right.

The folder is $SPIRKILN_CACHE/glslc-debian13; SPIRKILN_CACHE defaults to
${XDG_CACHE_HOME:-$HOME/.cache}/spirkiln. It holds bin/, lib/, include/, share/doc/, the names and
versions of the packages and SHA256SUMS. spirkiln looks there by itself.

  --check   fetch nothing: say what is missing or wrong, exit 1 if something is
  --help    this text
USAGE
}

suite=trixie
programs=(glslc spirv-dis spirv-opt spirv-val)
packages=(glslc libshaderc1 spirv-tools libstdc++6 libgcc-s1 libc6 libvulkan-dev spirv-headers)

fetch_options "$@"

cache=$(cache_folder)
folder=$cache/glslc-debian13

# Starts program $2 of folder $1 through the folder's own loader, so that none of this machine's
# libraries is used. From within: a ':' in the folder's name would end it in the list of paths.
start() { (cd "$1" && lib/ld.so --library-path lib "bin/$2" "${@:3}" </dev/null); }

# Says what is missing or wrong in folder $1; succeeds when nothing is.
faults_in() {
  local program
  if [[ ! -d $1 ]]; then say "missing: $1"; return 1; fi
  if [[ ! -f $1/SHA256SUMS ]]; then say "missing: $1/SHA256SUMS"; return 1; fi
  (cd "$1" && sha256sum --check --quiet --strict SHA256SUMS >&2) ||
    { say "wrong: files in $1 (see above)"; return 1; }
  for program in "${programs[@]}"; do
    start "$1" "$program" --version >/dev/null 2>&1 ||
      { say "wrong: $1/bin/$program does not start"; return 1; }
  done
}

if [[ $check_only == yes ]]; then
  faults_in "$folder" || exit 1
  printf '%s\n' "$folder"
  exit 0
fi
if [[ -d $folder ]] && faults_in "$folder"; then
  printf '%s\n' "$folder"
  exit 0
fi

# Prints a source entry for Debian 13, made from the entry for the Debian that this machine runs.
debian_13_entry() {
  local own id=
  # shellcheck source=/dev/null
  id=$(. /etc/os-release 2>/dev/null && printf '%s %s' "${ID:-}" "${VERSION_CODENAME:-}") || id=
  local candidates=("$suite")
  if [[ $id == debian* ]]; then
    candidates+=("${id#debian }" stable oldstable testing unstable sid)
  fi
  for own in "${candidates[@]}"; do
    if [[ -n $own ]] && source_entry_for "$own" "$suite" again; then return 0; fi
  done
  return 1
}

for tool in apt-get dpkg dpkg-deb flock; do
  command -v "$tool" >/dev/null || die "no $tool here: this script works on Debian. Elsewhere, name a \
folder with bin/glslc, bin/spirv-opt, bin/spirv-val and bin/spirv-dis to spirkiln with --glslc"
done
entry=$(debian_13_entry) || die "no Debian package source in /etc/apt to copy for $suite. On another \
system, name a folder with bin/glslc, bin/spirv-opt, bin/spirv-val and bin/spirv-dis to spirkiln with \
--glslc"

mkdir -p "$cache" || die "cannot make the cache folder $cache"
exec 9>"$cache/.glslc-debian13.lock" || die "cannot write in the cache folder $cache"
flock 9
# Another run may have filled it in the meantime.
if [[ -d $folder ]] && faults_in "$folder" 2>/dev/null; then
  printf '%s\n' "$folder"
  exit 0
fi
rm -rf "$cache"/.glslc-debian13.??????  # of runs that were killed
temp=$(mktemp -d "$cache/.glslc-debian13.XXXXXX") || die "cannot write in the cache folder $cache"
trap 'rm -rf "$temp"' EXIT

# A world of apt's own: its lists, its archives and an empty list of installed packages. What this
# machine configures otherwise (a proxy, say) holds; hooks would touch the machine and are left out.
mkdir -p "$temp"/{state/lists/partial,archives/partial,sources,none,debs,unpacked,ready}
: >"$temp/state/status"
(umask 077 && printf '%s' "$entry" >"$temp/sources/$suite.sources")
cat >"$temp/apt.conf" <<CONF
Dir::State "$temp/state";
Dir::State::status "$temp/state/status";
Dir::Cache "$temp";
Dir::Cache::archives "archives";
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$temp/sources";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "$temp/none";
#clear APT::Architectures;
APT::Architectures { "$(dpkg --print-architecture)"; };
APT::Default-Release "";
APT::Sandbox::User "root";
APT::Update::Error-Mode "any";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Acquire::Languages "none";
Acquire::Retries "3";
CONF
get() { (cd "$temp/debs" && apt-get -q -c "$temp/apt.conf" "$@" </dev/null >&2); }

say "fetching ${packages[*]} of Debian 13"
get update || die "the package index of $suite could not be had (see above): is this machine's package \
source reachable, and does its debian-archive-keyring know Debian 13?"
get download "${packages[@]}" || die "the packages could not be had (see above)"

for name in "${packages[@]}"; do
  debs=("$temp/debs/$name"_*.deb)
  [[ -f ${debs[0]} ]] || die "apt-get left no package $name"
  dpkg-deb -x "${debs[0]}" "$temp/unpacked" || die "the package $name could not be unpacked"
  dpkg-deb -f "${debs[0]}" Package Version | sed 's/^[^:]*: //' | paste -sd ' ' >>"$temp/ready/packages"
done

ready=$temp/ready
mkdir -p "$ready"/{bin,lib,include}
cd "$temp/unpacked"
loader=$(find . -type f -name 'ld-linux*.so.*' -print -quit)
[[ -n $loader ]] || die "libc6 has no dynamic loader (ld-linux*.so.*) for this architecture"
cp -- "$loader" "$ready/lib/ld.so"
libraries=$(find . -name 'libshaderc.so.1' -print -quit)
for program in "${programs[@]}"; do
  cp -- "usr/bin/$program" "$ready/bin/"
  # What it needs, as the loader itself sees it.
  needed=$("$loader" --library-path "${libraries%/*}:${loader%/*}" --list "usr/bin/$program") ||
    die "$program of Debian 13 does not load: $needed"
  while read -r path; do
    [[ $path != /* ]] || die "$program would use $path of this machine: a package is missing"
    cp -L -- "$path" "$ready/lib/"
  done < <(sed -n 's/^.* => \(.*\) (0x[0-9a-f]*)$/\1/p' <<<"$needed" | grep -v '/ld-linux')
done
cp -r -- usr/include/{vulkan,vk_video,spirv} "$ready/include/"
for name in "${packages[@]}"; do
  if [[ -d usr/share/doc/$name ]]; then
    mkdir -p "$ready/share/doc/$name"
    cp -L -- "usr/share/doc/$name/copyright" "$ready/share/doc/$name/"
  fi
done
chmod -R u+w,a+rX "$ready"
(cd "$ready" && find . -type f ! -name SHA256SUMS -print0 | LC_ALL=C sort -z | xargs -0 sha256sum) \
  >"$temp/SHA256SUMS"
mv "$temp/SHA256SUMS" "$ready/"
faults_in "$ready" || die "what was fetched does not work (see above)"
# A wrong folder goes first, so that there is at no time half of one.
if [[ -e $folder ]]; then mv -T "$folder" "$temp/old"; fi
mv -T "$ready" "$folder"
say "$(start "$folder" glslc --version | head -n 1) is in $folder"
printf '%s\n' "$folder"
