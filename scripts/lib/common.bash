# Sourced by scripts/run and scripts/test: messages, the lock, building.
# shellcheck shell=bash
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly root build=$root/build

offline=false # set by the scripts' --offline
would_fetch=() # with --offline: lines on what is missing

# only_noted WHAT: with --offline notes what is missing; else status 1, and it is to be fetched.
only_noted() { $offline && would_fetch+=("$1"); }

say() { printf '%s\n' "occbench: $*" >&2; }

# fail MESSAGE...: what is missing, with what value, and as the last line the remedy. 69 is sysexits.h's EX_UNAVAILABLE.
fail() {
  local line
  for line in "$@"; do say "$line"; done
  exit 69
}

# After the command that Ctrl-C ended; what was downloaded, unpacked or compiled completely is kept.
trap 'say "interrupted; run the same command again to go on"; exit 130' INT

wrong_use() {
  printf '%s\n' "$@" >&2
  exit 64
}

# read_arguments FLAG MOST WHAT ARGUMENT...: whether FLAG is among the arguments becomes $flagged, the others, at most so many,
# ${positional[@]}. The script's $usage answers --help and wrong use.
# shellcheck disable=SC2034,SC2154 # the script reads $flagged and has $usage
read_arguments() {
  local script=scripts/${0##*/} flag=$1 most=$2 what=$3 argument
  shift 3
  flagged=false positional=()
  for argument in "$@"; do
    case $argument in
      "$flag") flagged=true ;;
      -h | --help) printf '%s\n' "$usage" && exit ;;
      -*) wrong_use "$script: unknown option '$argument'" "$usage" ;;
      *) positional+=("$argument") ;;
    esac
  done
  ((${#positional[@]} <= most)) || wrong_use "$script: at most $what, not: ${positional[*]}" "$usage"
}

# Held until the script and what it became by exec end, so that two never build, install or measure at once. A script
# that such a process calls goes by its caller's lock.
take_lock() {
  [[ -z ${OCCBENCH_LOCK_HELD:-} ]] || return 0
  if ! mkdir --parents "$build" 2>/dev/null || ! touch "$build/.lock" 2>/dev/null; then
    fail "cannot write to $build, where everything is built." \
      "Make the checkout writable, or make build/ a link to a folder that is."
  fi
  exec 9>>"$build/.lock"
  if ! flock --nonblock 9; then
    say "another scripts/run or scripts/test is at work in $build; waiting for it to end"
    flock 9
  fi
  export OCCBENCH_LOCK_HELD=1
}

# quietly LOG COMMAND...: its output goes to LOG, and is shown only if it fails.
quietly() {
  local log=$1
  shift
  mkdir --parents "$(dirname "$log")"
  if ! "$@" >"$log" 2>&1; then
    cat "$log" >&2
    return 1
  fi
}

# version_at_least HAVE WANT, as numbers between dots.
version_at_least() { [[ $(printf '%s\n' "$2" "$1" | sort --version-sort | head --lines=1) == "$2" ]]; }

# configure_and_build PRESET TARGETS [CMAKE_ARGUMENT...], with spaces between targets.
configure_and_build() {
  local preset=$1 each_target
  read -ra each_target <<<"$2"
  shift 2
  [[ -d $build/$preset ]] || require_disk_space
  quietly "$build/$preset.configure.log" cmake -S "$root" --preset "$preset" "$@" &&
    cmake --build "$build/$preset" --target "${each_target[@]}" >&2
}

# The same, or the end of the script.
build_or_exit() {
  configure_and_build "$@" || {
    say "the build failed; the compiler's messages are above"
    exit 70
  }
}

source "$(dirname "${BASH_SOURCE[0]}")/prerequisites.bash"
source "$(dirname "${BASH_SOURCE[0]}")/python.bash"
source "$(dirname "${BASH_SOURCE[0]}")/cuda.bash"
