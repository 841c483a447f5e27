# Sourced by common.bash: which CUDA toolkit builds. One that is on the machine and serves; else NVIDIA's own packages under build/.
# shellcheck shell=bash

readonly oldest_toolkit=12.6 wheels_driver=580 oldest_capability=7.5

# gpu_architectures: prints the compute capabilities of the machine's GPUs as 90, each once; nothing where there is none.
gpu_architectures() {
  local listed capability
  if ! command -v nvidia-smi >/dev/null; then
    ! grep --quiet --no-messages 0x10de /sys/bus/pci/devices/*/vendor ||
      say "there is an NVIDIA device on the bus, but no nvidia-smi: install NVIDIA's driver to measure it"
    return 0
  fi
  listed=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>&1) || listed+=" (status $?)"
  if [[ $listed != [0-9]* ]]; then
    say "nvidia-smi finds no GPU: $(head --lines=1 <<<"$listed")"
    return 0
  fi
  sort --unique <<<"$listed" | while read -r capability; do
    if version_at_least "$capability" $oldest_capability; then
      printf '%s\n' "${capability//./}"
    else
      say "a GPU of compute capability $capability is left out: CUDA 13 and occbench measure from $oldest_capability on"
    fi
  done
}

# toolkit_serves NVCC ARCHITECTURE...: new enough, knows the architectures (as 90), has CUPTI's Range Profiler.
toolkit_serves() {
  local nvcc=$1 version folder architecture
  shift
  version=$("$nvcc" --version 2>/dev/null | sed --quiet 's/.*release \([0-9.]*\),.*/\1/p')
  [[ -n $version ]] && version_at_least "$version" $oldest_toolkit || return 1
  for architecture in "$@"; do
    "$nvcc" --list-gpu-code | grep --quiet --line-regexp "sm_$architecture" || return 1
  done
  folder=$(dirname "$(dirname "$(realpath "$(command -v "$nvcc")")")")
  [[ -e $folder/include/cupti_range_profiler.h || -e $folder/extras/CUPTI/include/cupti_range_profiler.h ]]
}

# find_nvcc ARCHITECTURE...: prints the first compiler that serves.
find_nvcc() {
  local candidate
  for candidate in ${CUDACXX:+"$CUDACXX"} nvcc ${CUDA_HOME:+"$CUDA_HOME/bin/nvcc"} ${CUDA_PATH:+"$CUDA_PATH/bin/nvcc"} \
    /usr/local/cuda/bin/nvcc; do
    if toolkit_serves "$candidate" "$@"; then
      command -v "$candidate"
      return
    fi
  done
}

# Laid out as an installed toolkit is, which is where CMake's FindCUDAToolkit and nvcc itself look.
lay_out_toolkit() {
  local folder=$1 library
  ln --symbolic lib "$folder/lib64"
  for library in "$folder"/lib/lib*.so.*; do
    ln --symbolic --force "$(basename "$library")" "${library%.so.*}.so"
  done
}

install_toolkit() {
  local folder=$build/cuda partial=$build/cuda.partial
  is_current "$folder" cuda && return
  only_noted "NVIDIA's CUDA 13.0 into $folder: $(names_of cuda)" && return
  require_disk_space
  say "no nvcc of CUDA $oldest_toolkit or later with CUPTI was found: fetching NVIDIA's CUDA 13.0 (210 MB) into $folder"
  rm --recursive --force "$folder" "$partial"
  "$(find_python)" -m venv "$partial/pip"
  pip_install "$partial/pip/bin/python" cuda --target "$partial"
  lay_out_toolkit "$partial/nvidia/cu13"
  locked cuda | sha256sum >"$partial/nvidia/cu13/.locked"
  mv "$partial/nvidia/cu13" "$folder"
  rm --recursive --force "$partial"
}

# A toolkit of compiler and CUPTI alone lacks the header of NVML.
install_nvml_header() {
  local nvcc=$1 folder=$build/nvml partial=$build/nvml.partial
  [[ ! -e $(dirname "$(dirname "$(realpath "$(command -v "$nvcc")")")")/include/nvml.h ]] || return 0
  is_current "$folder" nvml && return
  only_noted "the header of NVML into $folder: $(names_of nvml)" && return
  say "the toolkit of $nvcc has no nvml.h: fetching it (0.1 MB) into $folder"
  rm --recursive --force "$folder" "$partial"
  "$(find_python)" -m venv "$partial/pip"
  pip_install "$partial/pip/bin/python" nvml --target "$partial"
  mv "$partial/nvidia/cu13/include" "$folder"
  locked nvml | sha256sum >"$folder/.locked"
  rm --recursive --force "$partial"
}

# set_up_cuda ARCHITECTURE...: sets nvcc.
set_up_cuda() {
  nvcc=$(find_nvcc "$@")
  if [[ -n $nvcc ]]; then
    install_nvml_header "$nvcc"
  else
    require_driver_for_wheels
    install_toolkit
    nvcc=$build/cuda/bin/nvcc
  fi
}

# Where occbench looks for cuobjdump.
has_cuobjdump() {
  local folder
  command -v cuobjdump >/dev/null && return
  for folder in ${CUDA_HOME:+"$CUDA_HOME/bin"} ${CUDA_PATH:+"$CUDA_PATH/bin"} /usr/local/cuda/bin "$build/cuda/bin"; do
    [[ ! -x $folder/cuobjdump ]] || return 0
  done
  return 1
}

# set_up_cuobjdump: what occbench calc --from needs, which some installed toolkits lack, into build/cuda/bin.
set_up_cuobjdump() {
  local partial=$build/cuobjdump.partial
  has_cuobjdump && return
  only_noted "NVIDIA's tools for binaries into $build/cuda/bin: $(names_of binaries)" && return
  say "no cuobjdump was found: fetching NVIDIA's (6 MB) into $build/cuda/bin"
  rm --recursive --force "$partial"
  "$(find_python)" -m venv "$partial/pip"
  pip_install "$partial/pip/bin/python" binaries --target "$partial"
  mkdir --parents "$build/cuda/bin"
  mv "$partial/nvidia/cu13/bin/"{cuobjdump,nvdisasm} "$build/cuda/bin/"
  rm --recursive --force "$partial"
}

require_driver_for_wheels() {
  local driver
  driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head --lines=1) || return 0
  [[ $driver == [0-9]* ]] || return 0
  version_at_least "$driver" $wheels_driver ||
    fail "NVIDIA driver $driver is older than $wheels_driver, which CUDA 13.0 needs." \
      "Update the driver, or install CUDA Toolkit $oldest_toolkit to 12.9 with CUPTI and put its nvcc on the PATH."
}
