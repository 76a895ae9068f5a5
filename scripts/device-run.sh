#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Takes a folder of scripts/portable-bench to a device, runs it there and brings the results back.
set -euo pipefail
me='device-run'

usage() {
  cat <<'USAGE'
Usage: scripts/device-run.sh --adb [-s SERIAL] [OPTION...] FOLDER [-- ARGUMENT...]
       scripts/device-run.sh --ssh HOST [OPTION...] FOLDER [-- ARGUMENT...]

Pushes FOLDER, starts its run.sh there, apart from this connection, waits until it has written .done,
and pulls its results. With ARGUMENTs run.sh runs spirkiln-bench with these alone.

  --adb            through adb; -s names one of several devices
  --ssh HOST       through ssh and scp, as ~/.ssh/config knows HOST; no password is asked for
  --to FOLDER      the folder on the device (default: spirkiln-bench in /data/local/tmp or in the home
                   folder). What is there is replaced, if this script made it
  --out FOLDER     where the results go (default: results-DEVICE); it must not be there yet
  --timeout N      seconds until a run that has not ended is given up (default: 3600); it goes on there
  --poll N         seconds between two looks (default: 5)
  --call N         seconds that one call of adb or ssh may take (default: 30; pushing and pulling: 20 times)

Exit status: that of run.sh; 3 where the device does not answer, 4 where the run died, 5 for a timeout.
USAGE
}

say() { printf '%s: %s\n' "$me" "$*" >&2; }
die() { printf '%s: error: %s\n' "$me" "$*" >&2; exit "${status:-1}"; }
refuse() { printf '%s: error: %s (see --help)\n' "$me" "$*" >&2; exit 2; }

way='' serial='' host='' to='' out='' folder='' timeout_s=3600 poll=5 call=30 arguments=()
while (($#)); do
  case $1 in
    --adb) way+=adb ;;
    -s) serial=${2-}; [[ -n $serial ]] || refuse "-s needs a device"; shift ;;
    --ssh) way+=ssh host=${2-}; [[ -n $host && $host != -* ]] || refuse "--ssh needs a host"; shift ;;
    --to) to=${2-}; [[ -n $to ]] || refuse "--to needs a folder"; shift ;;
    --out) out=${2-}; [[ -n $out ]] || refuse "--out needs a folder"; shift ;;
    --timeout | --poll | --call)
      [[ ${2-} =~ ^[0-9]+(\.[0-9]+)?$ ]] || refuse "$1 needs a number of seconds"
      case $1 in --timeout) timeout_s=$2 ;; --poll) poll=$2 ;; --call) call=$2 ;; esac
      shift ;;
    -h | --help) usage; exit 0 ;;
    --) shift; arguments=("$@"); break ;;
    -*) refuse "unknown option '$1'" ;;
    *) [[ -z $folder ]] || refuse "one folder, not '$folder' and '$1'"; folder=$1 ;;
  esac
  shift
done
case $way in
  adb | ssh) ;;
  *) refuse "either --adb or --ssh HOST" ;;
esac
[[ $way == adb || -z $serial ]] || refuse "-s goes with --adb"
[[ -n $folder ]] || refuse "no folder named"
folder=${folder%/}
[[ -f $folder/.spirkiln-bench && -f $folder/run.sh ]] ||
  refuse "$folder is no folder of scripts/portable-bench"
if [[ -z $to ]]; then
  to=spirkiln-bench
  if [[ $way == adb ]]; then to=/data/local/tmp/spirkiln-bench; fi
fi
case $to in
  / | . | .. | */.. | */. | */ | -*) refuse "--to $to: a folder of its own is needed" ;;
esac
device=${host:-${serial:-adb}}
out=${out:-results-${device//[^A-Za-z0-9._-]/-}}
[[ ! -e $out ]] || refuse "--out $out is there already"
command -v "$way" >/dev/null || die "there is no program $way here"

# ---- The device ----------------------------------------------------------------------------------
# A word for the shell there, whatever is in it.
quoted() { printf "'%s'" "${1//\'/\'\\\'\'}"; }
there=$(quoted "$to")
adb_options=()
if [[ -n $serial ]]; then adb_options=(-s "$serial"); fi
ssh_options=(-o BatchMode=yes -o ConnectTimeout=10)

# on_device COMMAND: its output and exit status. Bounded, since a device may vanish in the middle.
on_device() {
  if [[ $way == adb ]]; then
    timeout "$call" adb "${adb_options[@]}" shell "$1" </dev/null
  else
    timeout "$call" ssh "${ssh_options[@]}" "$host" "$1" </dev/null
  fi
}
# Both make the target as a copy of the source where it is not there yet.
long_call=$(awk "BEGIN { print 20 * $call }")
push() {
  if [[ $way == adb ]]; then
    timeout "$long_call" adb "${adb_options[@]}" push "$1" "$2" </dev/null
  else
    timeout "$long_call" scp -q -r "${ssh_options[@]}" "$1" "$host:$2" </dev/null
  fi
}
pull() {
  if [[ $way == adb ]]; then
    timeout "$long_call" adb "${adb_options[@]}" pull "$1" "$2" </dev/null
  else
    timeout "$long_call" scp -q -r "${ssh_options[@]}" "$host:$1" "$2" </dev/null
  fi
}

log=$(mktemp)
part=''
trap 'rm -rf "$log" ${part:+"$part"}' EXIT
# What went wrong there, for an error.
why() { tail -n 5 "$log" | tr '\r\n' '  '; }

# look: "free", "ours", "busy" or "foreign": what lies where the folder shall go.
look="if [ ! -e $there ]; then echo free; elif [ ! -f $there/.spirkiln-bench ]; then echo foreign; \
elif [ ! -f $there/.done ] && kill -0 \$(cat $there/.pid 2>/dev/null) 2>/dev/null; then echo busy; else echo ours; fi"
found=$(on_device "$look" 2>"$log") || status=3 die "$device does not answer: $(why)"
case ${found//[$'\r\n']/} in
  free | ours) ;;
  busy) die "$device: a run in $to has not ended; wait for it, or name another folder by --to" ;;
  foreign) die "$device: $to is there and was not made by this script; name another folder by --to" ;;
  *) status=3 die "$device answers '$found'" ;;
esac

say "pushing $folder to $device:$to"
parent=.
if [[ $to == */* ]]; then parent=${to%/*}; fi
on_device "rm -rf $there && mkdir -p $(quoted "${parent:-/}")" >"$log" 2>&1 ||
  status=3 die "$device: $to cannot be made: $(why)"
push "$folder" "$to" >"$log" 2>&1 || status=3 die "the push to $device failed: $(why)"

words=''
for argument in "${arguments[@]}"; do words+=" $(quoted "$argument")"; done
# Its own session where the system can make one, so that the end of this connection is not its end.
start="cd $there && chmod 755 run.sh spirkiln-bench && rm -f .done && \
{ if command -v setsid >/dev/null 2>&1; then s=setsid; else s=; fi; \
nohup \$s sh ./run.sh$words >run.log 2>&1 </dev/null & echo \$! >.pid; }"
on_device "$start" >"$log" 2>&1 || status=3 die "$device: the run could not be started: $(why)"
say "running; looking every $poll s"

# ---- Waiting -------------------------------------------------------------------------------------
# A run that ends between the two questions is done, not dead.
ask="cd $there && if [ -f .done ]; then echo done \$(cat .done); \
elif kill -0 \$(cat .pid) 2>/dev/null; then echo running; \
elif sleep 1; [ -f .done ]; then echo done \$(cat .done); else echo dead; fi"
begin=$SECONDS silent=0 result=''
while [[ -z $result ]]; do
  sleep "$poll"
  answer=$(on_device "$ask" 2>"$log") || answer=''
  answer=${answer//[$'\r\n']/}
  case $answer in
    'done '[0-9]*) result=${answer#done } ;;
    running) silent=0 ;;
    dead) result=dead ;;
    *)
      silent=$((silent + 1))
      if ((silent >= 3)); then status=3 die "$device has not answered three times: $(why)"; fi
      say "$device does not answer, trying again: $(why)"
      ;;
  esac
  if [[ -z $result ]] && ((SECONDS - begin >= ${timeout_s%.*})); then result=timeout; fi
done

# ---- Results -------------------------------------------------------------------------------------
part=$out.part.$$
rm -rf "$part"
if pull "$to/results" "$part" >"$log" 2>&1; then
  pull "$to/run.log" "$part/run.log" >"$log" 2>&1 || say "there is no run.log: $(why)"
  [[ ! -e $out ]] || die "--out $out is there already"
  mv "$part" "$out"
  say "results are in $out"
else
  status=3 die "the results could not be pulled from $device: $(why)"
fi
case $result in
  dead) status=4 die "the run on $device ended without .done: it was killed, or the device has no memory left" ;;
  timeout) status=5 die "the run on $device has not ended within $timeout_s s; what is there so far was pulled" ;;
esac
say "the run ended with exit status $result"
exit "$result"
