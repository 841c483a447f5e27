# Sourced by common.bash: what comes from Python's package index, pinned with hashes in scripts/requirements.lock, into build/ alone.
# shellcheck shell=bash

readonly lock_file=$root/scripts/requirements.lock

# locked cuda|binaries|nvml|python: that part of the lock file. NVIDIA's packages are the toolkit, NVML's header and the two tools
# that read binaries among them; all others are for Python. What wheels need (wheel) has a file of its own.
locked() {
  [[ $1 != wheel ]] || { cat "$root/scripts/wheel_requirements.lock" && return; }
  awk -v want="$1" '
    /^[a-z]/ {
      part = /^nvidia-/ ? "cuda" : "python"
      if (want == "nvml" && /^nvidia-nvml-dev=/) part = want
      if (want == "binaries" && /^nvidia-cuda-(cuobjdump|nvdisasm)=/) part = want
    }
    part == want' "$lock_file"
}

# is_current FOLDER PART: the folder was completed from what the lock file says today.
is_current() {
  [[ -f $1/.locked && $(<"$1/.locked") == "$(locked "$2" | sha256sum)" ]]
}

# pip_install PYTHON PART [OPTION...]: what was fetched is kept under build/ until all is installed, so that a set-up
# that was interrupted does not fetch it again.
pip_install() {
  local python=$1 part=$2 quiet=()
  shift 2
  [[ -t 2 ]] || quiet=(--quiet)
  "$python" -m pip install "${quiet[@]}" --disable-pip-version-check --cache-dir "$build/fetched" --no-deps \
    --only-binary :all: --no-compile --require-hashes --requirement <(locked "$part") "$@" >&2 ||
    fail "the packages of the part '$part' of scripts/requirements.lock could not be fetched." \
      "See pip's message above: check the network (HTTPS_PROXY, PIP_INDEX_URL and PIP_CERT name a way to it); run this again to continue."
  rm --recursive --force "$build/fetched"
}

# The part's packages with their versions, in a line.
names_of() { locked "$1" | sed --quiet 's/^\([a-z][^ ]*\).*/\1/p' | paste --serial --delimiters=' '; }

# set_up_python [PART]: build/python, the virtual environment of occbench_tools, the format checks and the tests; or build/wheel_python.
set_up_python() {
  local part=${1:-python}
  local folder=$build/python
  [[ $part == python ]] || folder=$build/${part}_python
  is_current "$folder" "$part" && return
  only_noted "Python's packages into $folder: $(names_of "$part")" && return
  # venv --clear would empty the folder that a link leads to, which others may use.
  [[ ! -L $folder ]] ||
    fail "$folder is a link, and what it leads to was set up from another lock file than this checkout's." \
      "Set it up in the checkout that it belongs to, or remove the link and run this again."
  require_disk_space
  say "setting up Python's packages in $folder"
  "$(find_python)" -m venv --clear "$folder"
  pip_install "$folder/bin/python" "$part"
  locked "$part" | sha256sum >"$folder/.locked"
}

# Sets up build/python during a build. As a job of its own it can be ended with all that it started, and through a pipe
# pip draws no progress between the lines of the build.
begin_python_set_up() {
  set -m
  { set_up_python 2>&1 | cat >&2; } &
  python_set_up=$!
  set +m
  trap 'kill -- -$python_set_up 2>/dev/null || true' EXIT
}

# Waits for it; ends with its status.
end_python_set_up() {
  local status=0
  wait "$python_set_up" || status=$?
  trap - EXIT
  return "$status"
}
