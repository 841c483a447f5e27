# Sourced by common.bash: what must be on the machine before a build. Missing packages of the distribution are installed where that
# is allowed, and named with the remedy where it is not. Nothing else of the system is written.
# shellcheck shell=bash

# Both Debian 12 and Ubuntu 24.04 have these names.
readonly system_packages=(g++ cmake ninja-build python3 python3-venv libfmt-dev libcli11-dev nlohmann-json3-dev
  zlib1g-dev libre2-dev libbenchmark-dev libgtest-dev libgmock-dev)
# What some tests need beside: fuzzing, the tests of the page, a cluster.
readonly test_packages=(git clang libclang-rt-dev chromium slurmctld slurmd slurm-client munge)
readonly needed_kilobytes=6000000

# What each package is for, asked of the machine itself where that is cheap: tools may come from anywhere.
has_package() {
  case $1 in
    g++) command -v "${CXX:-c++}" >/dev/null ;;
    cmake) command -v cmake >/dev/null ;;
    ninja-build) command -v ninja >/dev/null ;;
    python3 | python3-venv) [[ -n $(find_python) ]] ;;
    clang) command -v clang++ >/dev/null ;;
    git) command -v git >/dev/null ;;
    chromium) [[ -n $(find_chromium) ]] ;;
    # Where there is no dpkg, CMake looks for the libraries and names those that it misses.
    *) ! command -v dpkg-query >/dev/null || [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null) == installed ]] ;;
  esac
}

# The first Python from 3.11 on that can make virtual environments.
find_python() {
  local candidate
  for candidate in ${PYTHON:+"$PYTHON"} python3 /usr/bin/python3 python3.13 python3.12 python3.11; do
    if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      printf '%s\n' "$candidate"
      return
    fi
  done
}

# The browser of the page's tests. Ubuntu has none as a package.
find_chromium() {
  local candidate
  for candidate in ${CHROMIUM:+"$CHROMIUM"} chromium chromium-browser google-chrome; do
    command -v "$candidate" && return
  done
  return 0
}

# missing_of PACKAGE...
missing_of() {
  local package
  for package in "$@"; do
    has_package "$package" || printf '%s\n' "$package"
  done
}

as_root=(env DEBIAN_FRONTEND=noninteractive) # what comes before a command that only root may run

# Status 1 where this user may not.
become_root() {
  ((EUID == 0)) && return
  { command -v sudo >/dev/null && { sudo --non-interactive true 2>/dev/null || [[ -t 0 ]]; }; } || return 1
  as_root=(sudo env DEBIAN_FRONTEND=noninteractive)
}

# install_packages PACKAGE...: as root, by apt-get. The lists of packages are to be fetched before.
install_packages() {
  quietly "$build/apt.log" "${as_root[@]}" apt-get install --yes --no-install-recommends --fix-broken \
    --option DPkg::Lock::Timeout=600 "$@"
}

require_disk_space() {
  local free
  free=$(df --output=avail --block-size=1K "$build" | tail --lines=1)
  ((free >= needed_kilobytes)) ||
    fail "setting up needs $((needed_kilobytes / 1000000)) GB in $build, and $((free / 1000)) MB are free." \
      "Free some space, or make build/ a link to a folder on a larger disk."
}

prepared=false
prepare_installation() {
  ! $prepared || return 0
  prepared=true
  # An unreachable list of somebody else's must not stop an installation that does not need it.
  quietly "$build/apt.log" "${as_root[@]}" apt-get update || say "apt-get update failed; trying with the lists there are"
  # An installation that was cut short is completed first: apt-get refuses to go on from it.
  "${as_root[@]}" dpkg --configure --pending >"$build/dpkg.log" 2>&1 || true
}

# What only some tests need. Where it cannot be installed these are skipped, and the end of scripts/test says so.
install_test_packages() {
  local missing package
  mapfile -t missing < <(missing_of "${test_packages[@]}")
  ((${#missing[@]})) && ! $offline && command -v apt-get >/dev/null && become_root || return 0
  say "installing packages for tests: ${missing[*]}"
  prepare_installation
  install_packages "${missing[@]}" 2>/dev/null && return
  for package in "${missing[@]}"; do # one that this distribution lacks must not keep the others out
    install_packages "$package" || say "the package $package could not be installed: tests that need it are skipped"
  done
}

install_system_packages() {
  local missing
  mapfile -t missing < <(missing_of "${system_packages[@]}")
  ((${#missing[@]})) || return 0
  if ! command -v apt-get >/dev/null; then
    fail "this is no Debian or Ubuntu, and what these packages hold there was not found: ${missing[*]}" \
      "Install them by this system's own means (libraries elsewhere: name their folder in CMAKE_PREFIX_PATH)."
  fi
  local remedy="apt-get install --no-install-recommends ${missing[*]}"
  only_noted "packages of the distribution, which as root is: $remedy" && return
  become_root ||
    fail "packages are missing, and only root may install them: ${missing[*]}" "As root: $remedy"
  require_disk_space
  say "installing packages: ${missing[*]}"
  prepare_installation
  install_packages "${missing[@]}" ||
    fail "these packages could not be installed: ${missing[*]}" \
      "See apt-get's message above: check the network and the package sources, then run this again, or as root: $remedy"
}

require_compiler() {
  local compiler=${CXX:-c++} cmake_version
  "$compiler" -std=c++20 -fsyntax-only -x c++ - 2>/dev/null <<<$'#include <ranges>\n#include <span>
    #if __GNUC__ < 11 && !defined(__clang__)\n#error\n#endif' ||
    fail "$compiler ($("$compiler" --version | head --lines=1)) does not compile C++20." \
      "Install g++ 11 or later and name it: CXX=g++-12 $0"
  # nvcc's own choice would be the g++ on the PATH.
  [[ -z ${CXX:-} ]] || export CUDAHOSTCXX=${CUDAHOSTCXX:-$CXX}
  cmake_version=$(cmake --version | sed --quiet 's/^cmake version //p')
  version_at_least "$cmake_version" 3.25 ||
    fail "CMake $cmake_version is too old: 3.25 or later is needed." \
      "Install a newer one (cmake.org, or: python3 -m pip install cmake) and put it first on the PATH."
}

set_up_system() {
  install_system_packages
  ((${#would_fetch[@]})) || require_compiler
}

# With --offline, once all that is needed has been looked for.
require_nothing_to_fetch() {
  ((${#would_fetch[@]} == 0)) ||
    fail "--offline, and this would be fetched:" "${would_fetch[@]}" "Run the same command once without --offline."
}
