#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Set-up, build, every test. The last line is "N passed, N failed" with what Meson recorded.
set -euo pipefail
me='test'
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat <<'USAGE'
Usage: scripts/test.sh [--tidy] [--cross] [--suite NAME]... [MESON_TEST_ARGUMENT...]

Installs what is missing, fetches the models, builds everything and runs all tests; arguments go
to `meson test`. Ends with a line "N passed, N failed" and fails when anything failed.

  --tidy    (before other arguments) clang-tidy too: it takes minutes where it has not seen the code yet
  --cross   (before other arguments) build and test for aarch64 too, which compiles everything once more;
            installs what that needs
  --list    name the tests that would run, and run none

Examples:
  scripts/test.sh --list
  scripts/test.sh --suite unit
  scripts/test.sh kernels dialect
USAGE
}
case ${1:-} in -h | --help) usage; exit 0 ;; esac

setup=(--lint --fuzz)
tidy=(--no-suite tidy)
cross=(--no-suite cross)
while [[ ${1:-} == --tidy || ${1:-} == --cross ]]; do
  if [[ $1 == --tidy ]]; then tidy=(); else cross=() setup+=(--cross); fi
  shift
done
prepare "${setup[@]}"
selection=("${tidy[@]}" "${cross[@]}")
for argument in "$@"; do
  if [[ $argument == --list ]]; then
    exec meson test -C "$build" --no-rebuild "${selection[@]}" "$@" </dev/null
  fi
done
"$root/scripts/fetch-glslc.sh" >/dev/null ||
  say "going on without a second compiler (see above): what needs it is skipped"
build_targets all meson-test-prereq
if [[ -d $build/tools/packs ]]; then publish_packs; fi

log=$build/meson-logs/testlog.json
rm -f "$log"
status=0
meson test -C "$build" --no-rebuild --print-errorlogs "${selection[@]}" "$@" </dev/null || status=$?
[[ -s $log ]] || die "no test ran (meson test ended with $status): scripts/test.sh --list names them"

# One JSON object a line, each with one test's result.
/usr/bin/python3 - "$log" "$status" <<'PYTHON'
import json
import sys

counts = {"passed": 0, "failed": 0, "skipped": 0}
kinds = {"OK": "passed", "EXPECTEDFAIL": "passed", "SKIP": "skipped"}
with open(sys.argv[1], encoding="utf-8") as lines:
    for line in lines:
        counts[kinds.get(json.loads(line)["result"], "failed")] += 1
status = int(sys.argv[2])
if status != 0 and counts["failed"] == 0:
    counts["failed"] = 1  # meson itself failed
text = "{passed} passed, {failed} failed".format(**counts)
if counts["skipped"]:
    text += ", {skipped} skipped".format(**counts)
print(text, flush=True)
sys.exit(1 if counts["failed"] or counts["passed"] == 0 else 0)
PYTHON
