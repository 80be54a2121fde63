# What ./quickstart and ./run-tests share: the Debian packages, the configuration, the build. Sourced by bash, not run.
#
# QUADRILLE_CMAKE_ARGS: further arguments for CMake, separated by spaces (-DCMAKE_COMPILE_WARNING_AS_ERROR=ON).

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build

build_packages=(g++ cmake ninja-build python3 libyaml-cpp-dev libspdlog-dev libfmt-dev libcli11-dev nlohmann-json3-dev
                libpugixml-dev zlib1g-dev libopenblas-dev libhdf5-dev libeigen3-dev openmpi-bin libopenmpi-dev)
figure_packages=(python3-matplotlib)
test_packages=(libgtest-dev libgmock-dev python3-numpy python3-jsonschema python3-yaml python3-hypothesis gfortran libscalapack-openmpi-dev libelpa-dev)
peer_packages=(python3-venv python3-pip)

say() { printf '%s: %s\n' "$script" "$*"; }
fail() { printf '%s: %s\n' "$script" "$*" >&2; exit 1; }

needs="Quadrille needs Debian 12 or Ubuntu 24.04 or later (g++ 12, CMake 3.25)"

# version_below A B: A < B, as versions.
version_below() { [ "$1" != "$2" ] && [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }

# One line and the end when a compiler or CMake that is already here is too old.
check_tools() {
  local compiler=${CXX:-g++} version
  if command -v "${compiler%% *}" >/dev/null 2>&1; then
    # shellcheck disable=SC2086  # CXX may be a launcher and a compiler
    version=$($compiler -dumpfullversion -dumpversion 2>/dev/null) || version=0
    ! version_below "$version" 12 || fail "$compiler $version is too old: $needs; CXX names another compiler"
  elif [ -n "${CXX:-}" ]; then
    fail "CXX names $CXX, which is not here"
  fi
  if command -v cmake >/dev/null 2>&1; then
    version=$(cmake --version | sed -n '1s/^cmake version \([0-9.]*\).*/\1/p')
    ! version_below "$version" 3.25 || fail "CMake $version is too old: $needs"
  fi
}

# One line and the end when the system has no Debian packages or is older than what they need.
check_system() {
  local name='' release='' least=''
  if [ -r "${QUADRILLE_OS_RELEASE:-/etc/os-release}" ]; then
    name=$(. "${QUADRILLE_OS_RELEASE:-/etc/os-release}" && printf '%s' "${ID:-}")
    release=$(. "${QUADRILLE_OS_RELEASE:-/etc/os-release}" && printf '%s' "${VERSION_ID:-}")
  fi
  if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
    fail "this system (${name:-unknown}) has no apt-get and dpkg-query: $needs; elsewhere install by hand what" \
         "README.md lists and build with: cmake --preset default && cmake --build --preset default"
  fi
  case $name in
    debian) least=12 ;;
    ubuntu) least=24.04 ;;
  esac
  if [ -n "$least" ] && [ -n "$release" ] && version_below "$release" "$least"; then
    fail "${name^} $release is too old: $needs"
  fi
}

# install_missing PACKAGE...: installs those that are not here. With nothing missing it calls neither apt nor sudo.
install_missing() {
  local here package missing=() as_root=() line
  # shellcheck disable=SC2016  # the fields are dpkg-query's
  here=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
  for package in "$@"; do
    grep -qxF -- "$package installed" <<<"$here" || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0

  line="apt-get install --yes --no-install-recommends ${missing[*]}"
  if [ "$(id -u)" -ne 0 ]; then
    # Without a terminal sudo can only work when it asks for no password.
    if ! command -v sudo >/dev/null 2>&1 || { ! sudo -n true 2>/dev/null && ! [ -t 0 ]; }; then
      printf '%s: packages are missing and there are no rights to install them; as root run:\n  %s\n' "$script" "$line" >&2
      exit 1
    fi
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300)
  if ! "${apt[@]}" update || ! "${apt[@]}" install --yes --no-install-recommends "${missing[@]}"; then
    printf '%s: the packages could not be installed; as root run:\n  apt-get update\n  %s\n' "$script" "$line" >&2
    exit 1
  fi
}

# prepare PACKAGE...: everything that must be true before CMake runs. Tools are looked at before anything is installed, and
# again after.
prepare() {
  check_system
  check_tools
  install_missing "$@"
  check_tools
}

# AUTO with a usable GPU, else OFF: a machine without one is not kept waiting for kernels that it cannot run.
cuda_wanted() {
  case $(timeout 20 nvidia-smi -L 2>/dev/null || true) in
    *'GPU '*) echo AUTO ;;
    *) echo OFF ;;
  esac
}

# One line when a GPU answered but the CUDA backend was left out, and why.
say_no_cuda() {
  local line
  line=$(grep -m 1 '^-- No CUDA backend: ' "$build/configure.log") || return 0
  say "there is a usable GPU, but the build has no CUDA backend: ${line#-- No CUDA backend: } (see build/configure.log)"
}

# configure ARGUMENT...: CMake's preset `default` into build/, afresh when build/ belongs to another folder or generator.
configure() {
  local cache=$build/CMakeCache.txt fresh=() extra=() cuda
  if [ -f "$cache" ] && ! { grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache" &&
                            grep -qxF 'CMAKE_GENERATOR:INTERNAL=Ninja' "$cache"; }; then
    fresh=(--fresh)
  fi
  read -r -a extra <<<"${QUADRILLE_CMAKE_ARGS:-}" || true
  mkdir -p -- "$build"
  cuda=$(cuda_wanted)
  if ! (cd -- "$root" && cmake --preset default "${fresh[@]}" "-DQUADRILLE_CUDA=$cuda" "$@" "${extra[@]}") >"$build/configure.log" 2>&1; then
    cat -- "$build/configure.log" >&2
    return 1
  fi
  [ "$cuda" = OFF ] || say_no_cuda
}

# compile TARGET...
compile() { (cd -- "$root" && cmake --build --preset default --target "$@"); }
