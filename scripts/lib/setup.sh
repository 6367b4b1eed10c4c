# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# set_up_packages, set_up_python, set_up_build: each brings what is missing and
# is silent and quick when nothing is. Source common.sh first.

llvm=22
apt_packages=(
  clang-$llvm lld-$llvm llvm-$llvm-dev llvm-$llvm-tools libmlir-$llvm-dev mlir-$llvm-tools
  ninja-build cmake ccache
  libgtest-dev nlohmann-json3-dev libzstd-dev zlib1g-dev
  python3 python3-venv python3-dev
  ca-certificates git xz-utils
)

missing_packages() {
  local package
  for package in "$@"; do
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || echo "$package"
  done
}

set_up_packages() {
  if ! command -v apt-get >/dev/null; then
    local tool
    for tool in clang++-$llvm ld.lld-$llvm ninja cmake ccache; do
      command -v $tool >/dev/null ||
        die "$tool is missing and there is no apt-get to install it: deplo is built on Debian 12; elsewhere, install MLIR and Clang $llvm yourself"
    done
    return
  fi
  local missing
  mapfile -t missing < <(missing_packages "${apt_packages[@]}" "$@")
  ((${#missing[@]})) || return 0
  local as_root=()
  if ((EUID)); then
    command -v sudo >/dev/null && sudo -n true 2>/dev/null ||
      die "these packages are missing, and only root can install them: run 'apt-get install ${missing[*]}' as root, then this again"
    as_root=(sudo -n)
  fi
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  # dpkg may have been interrupted by an earlier run.
  quietly dpkg.log "${as_root[@]}" dpkg --configure -a
  quietly apt-update.log "${as_root[@]}" apt-get update
  local package
  for package in "${missing[@]}"; do
    [[ $(apt-cache policy "$package") == *Candidate:\ [0-9]* ]] ||
      die "apt knows no package $package: deplo needs Debian 12 with its updates and security updates enabled in apt's sources"
  done
  quietly apt-install.log "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "${missing[@]}"
}

# The first Python that is new enough and can make a virtual environment.
find_python() {
  local python
  for python in ${PYTHON:+"$PYTHON"} /usr/bin/python3 python3 python3.14 python3.13 python3.12 python3.11; do
    if "$python" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$python"
      return
    fi
  done
  die "no Python of version 3.11 or later with the venv module: install python3 and python3-venv, or name one with PYTHON=..."
}

# What decides whether .venv is up to date.
python_fingerprint() { cat "$root/python/pyproject.toml" "$root/scripts/lib/setup.sh" | sha256sum; }

set_up_python() {
  local stamp=$venv/.deplo-installed
  if [[ -f $stamp && -x $venv/bin/deplo && $(<"$stamp") == "$(python_fingerprint)" ]]; then
    return
  fi
  if ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    local python
    python=$(find_python)
    say "making .venv with $python"
    quietly venv.log "$python" -m venv --clear "$venv"
  fi
  if compgen -G "$venv/lib/python3*/site-packages/torch" >/dev/null; then
    say "bringing .venv up to date"
  else
    say "installing PyTorch and deplo's Python package into .venv (several GB, some minutes)"
  fi
  quietly pip.log "$venv/bin/python" -m pip install --disable-pip-version-check --no-input \
    --editable "$root/python[torch,test,benchmarks]"
  if [[ -z $(system_cuda) ]]; then
    # Just what the compiler uses: ptxas.
    say "installing ptxas into .venv, as there is no CUDA toolkit"
    quietly pip-cuda.log "$venv/bin/python" -m pip install --disable-pip-version-check --no-input \
      "cuda-toolkit[nvcc]"
  fi
  python_fingerprint >"$stamp"
}

# The root of the machine's CUDA toolkit, or nothing.
system_cuda() {
  local path
  for path in "${CUDA_HOME-}" "${CUDA_PATH-}" /usr/local/cuda; do
    if [[ -x $path/bin/ptxas ]]; then
      echo "$path"
      return
    fi
  done
}

# The root of the toolkit that set_up_python installed, or nothing.
venv_cuda() {
  local path
  for path in "$venv"/lib/python3*/site-packages/nvidia/cu*; do
    if [[ -x $path/bin/ptxas ]]; then
      echo "$path"
      return
    fi
  done
}

# set_up_build TARGET...: configures where needed and builds.
set_up_build() {
  if [[ ! -f $build/build.ninja ]]; then
    say "configuring"
    local cuda
    cuda=$(system_cuda)
    (cd "$root" && quietly configure.log cmake --preset release -DDEPLO_CUDA_TOOLKIT_ROOT="${cuda:-$(venv_cuda)}")
  fi
  # CMake runs again here if its files changed.
  [[ $(ninja -C "$build" -n "$@") == *"no work to do"* ]] && return
  say "building $*"
  if [[ -t 1 ]]; then
    ninja -C "$build" "$@"
  else
    # CMake's chatter, where it runs again, is left out.
    ninja -C "$build" --quiet "$@" | sed '/^-- /d'
  fi || die "the build failed"
}
