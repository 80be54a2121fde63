#!/usr/bin/env bash
# Tests cmake/setup.sh, run-tests and quickstart with stand-ins for apt-get, sudo, dpkg-query, cmake and ctest: nothing is installed.
#
#   setup_test.sh ROOT
set -u
root=$1
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
failures=0

stub() { # NAME BODY: a program on PATH that notes its call and runs BODY
  printf '#!/bin/bash\necho "%s $*" >>"$CALLS"\n%s\n' "$1" "$2" >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}

fresh() { # a Debian 12 with everything installed and an ordinary user without rights
  rm -rf -- "$work/bin"
  mkdir -p "$work/bin"
  : >"$work/calls"
  printf 'ID=debian\nVERSION_ID="12"\n' >"$work/os-release"
  stub dpkg-query 'for word in "$@"; do [[ $word == -* ]] || echo "$word installed"; done'
  stub apt-get 'exit 0'
  stub sudo 'echo "sudo: a password is required" >&2; exit 1'
  stub id 'echo 1000'
  stub g++ 'echo 12.2.0'
  stub cmake 'echo "cmake version 3.25.1"'
}

prepared() { # runs prepare; sets status, output, calls (of apt-get and sudo)
  output=$(CXX='' CALLS=$work/calls QUADRILLE_OS_RELEASE=$work/os-release PATH=$work/bin:/usr/bin:/bin \
    bash -c 'set -euo pipefail; script=run-tests; . "$0/cmake/setup.sh"; prepare "$@"; echo ready' \
    "$root" g++ cmake zlib1g-dev 2>&1 </dev/null)
  status=$?
  calls=$(grep -E '^(apt-get|sudo)' "$work/calls")
}

check() { # WHAT CONDITION...
  local what=$1
  shift
  if "$@"; then return; fi
  failures=$((failures + 1))
  printf 'FAILED: %s\n  status %s\n  output %s\n  calls %s\n' "$what" "$status" "$output" "$calls"
}
has() { [[ $1 == *"$2"* ]]; }
one_line() { [ "$(wc -l <<<"$1")" -eq 1 ]; }
lacks_zlib='for word in "$@"; do [[ $word == -* || $word == zlib1g-dev ]] || echo "$word installed"; done; exit 1'

fresh; prepared
check "nothing missing ends well" [ "$status" -eq 0 ]
check "nothing missing calls neither apt nor sudo" [ -z "$calls" ]

fresh; stub dpkg-query "$lacks_zlib"; prepared
check "no rights: ends with 1" [ "$status" -eq 1 ]
check "no rights: the exact line" has "$output" "apt-get install --yes --no-install-recommends zlib1g-dev"
check "no rights: nothing installed" [ "$calls" = "sudo -n true" ]

fresh; stub dpkg-query "$lacks_zlib"; stub id 'echo 0'; prepared
check "root: ends well" [ "$status" -eq 0 ]
check "root: updates first" has "$calls" "update
apt-get"
check "root: installs what is missing only" has "$calls" "install --yes --no-install-recommends zlib1g-dev"
check "root: no sudo" [ "${calls#*sudo}" = "$calls" ]

fresh; stub dpkg-query "$lacks_zlib"; stub sudo '[ "$1" = -n ] && shift; exec "$@"'; prepared
check "sudo: ends well" [ "$status" -eq 0 ]
check "sudo: asks apt without questions" has "$calls" "sudo env DEBIAN_FRONTEND=noninteractive apt-get"

fresh; stub dpkg-query "$lacks_zlib"; stub id 'echo 0'; stub apt-get 'exit 100'; prepared
check "apt fails: ends with 1" [ "$status" -eq 1 ]
check "apt fails: the exact line" has "$output" "apt-get install --yes --no-install-recommends zlib1g-dev"

for old in 'debian 11' 'ubuntu 22.04'; do
  fresh; printf 'ID=%s\nVERSION_ID="%s"\n' $old >"$work/os-release"; prepared
  check "$old: ends with 1" [ "$status" -eq 1 ]
  check "$old: one line" one_line "$output"
  check "$old: names it" has "${output,,}" "$old is too old"
  check "$old: nothing installed" [ -z "$calls" ]
done
fresh; printf 'ID=ubuntu\nVERSION_ID="24.04"\n' >"$work/os-release"; prepared
check "Ubuntu 24.04 is new enough" [ "$status" -eq 0 ]
fresh; printf 'ID=debian\n' >"$work/os-release"; prepared
check "Debian testing is new enough" [ "$status" -eq 0 ]

fresh; stub g++ 'echo 11.4.0'; prepared
check "old g++: one line that names it" one_line "$output"
check "old g++: names it" has "$output" "g++ 11.4.0 is too old"
check "old g++: ends with 1" [ "$status" -eq 1 ]
fresh; stub cmake 'echo "cmake version 3.22.1"'; prepared
check "old CMake: one line" one_line "$output"
check "old CMake: names it" has "$output" "CMake 3.22.1 is too old"
check "old CMake: ends with 1" [ "$status" -eq 1 ]

# The CUDA backend is built where nvidia-smi names a GPU; a build that leaves it out all the same says so.
copy="$work/copy"
mkdir -p "$copy/cmake"
cp "$root/cmake/setup.sh" "$copy/cmake/"
configured() { # NVIDIA_SMI CMAKE: runs configure with those stand-ins ('' for no nvidia-smi); sets status, output, calls
  fresh
  stub cmake "$2"
  [ -z "$1" ] || stub nvidia-smi "$1"
  output=$(CALLS=$work/calls PATH=$work/bin:/usr/bin:/bin QUADRILLE_CMAKE_ARGS=${3:-} \
    bash -c 'set -euo pipefail; script=run-tests; . "$0/cmake/setup.sh"; configure -DQUADRILLE_TESTS=ON' "$copy" 2>&1 </dev/null)
  status=$?
  calls=$(grep '^cmake' "$work/calls")
}
no_nvcc='echo "-- The CXX compiler identification is GNU"; echo "-- No CUDA backend: there is no nvcc: name it by CUDACXX"'
gpu='echo "GPU 0: NVIDIA H200 (UUID: GPU-1)"'
configured "$gpu" 'echo "-- CUDA backend: /usr/bin/nvcc"'
check "a GPU: configures" [ "$status" -eq 0 ]
check "a GPU: CUDA where it can be built" has "$calls" " -DQUADRILLE_CUDA=AUTO -DQUADRILLE_TESTS=ON"
check "a GPU with an nvcc: nothing to say" [ -z "$output" ]
configured "$gpu" "$no_nvcc"
check "a GPU without nvcc: configures" [ "$status" -eq 0 ]
check "a GPU without nvcc: one line" one_line "$output"
check "a GPU without nvcc: says so" has "$output" "run-tests: there is a usable GPU, but the build has no CUDA backend: there is no nvcc"
configured 'echo "NVIDIA-SMI has failed"; exit 9' 'echo "-- Configuring done"'
check "a driver that does not answer: configures" [ "$status" -eq 0 ]
check "a driver that does not answer: no CUDA" has "$calls" " -DQUADRILLE_CUDA=OFF"
check "a driver that does not answer: nothing to say" [ -z "$output" ]
configured 'echo "No devices found"' "$no_nvcc" -DQUADRILLE_CUDA=AUTO
check "no GPU: nothing to say about one" [ -z "$output" ]
check "a driver without GPUs: no CUDA" has "$calls" " -DQUADRILLE_CUDA=OFF"
configured "$gpu" 'exit 0' -DQUADRILLE_CUDA=ON
check "QUADRILLE_CMAKE_ARGS come last" has "$calls" "-DQUADRILLE_CUDA=AUTO -DQUADRILLE_TESTS=ON -DQUADRILLE_CUDA=ON"
if ! PATH=/usr/bin:/bin command -v nvidia-smi >/dev/null 2>&1; then
  configured '' 'exit 0'
  check "no nvidia-smi: no CUDA" has "$calls" " -DQUADRILLE_CUDA=OFF"
fi

# run-tests itself, from another folder, in a path with spaces, with a ctest that says what it is told.
tree="$work/a tree"
mkdir -p "$tree/cmake"
cp "$root/run-tests" "$tree/"
cp "$root/cmake/setup.sh" "$tree/cmake/"
summary() { # CTEST_OUTPUT CTEST_STATUS [ARGUMENT...]: sets output, status, last
  fresh
  printf '%s\n' "$1" >"$work/said"
  stub ctest "cat '$work/said'; exit $2"
  shift 2
  output=$(cd / && CXX='' CALLS=$work/calls QUADRILLE_OS_RELEASE=$work/os-release PATH=$work/bin:/usr/bin:/bin \
    "$tree/run-tests" "$@" 2>&1 </dev/null)
  status=$?
  calls=$(cat "$work/calls")
  last=$(tail -n 1 <<<"$output")
}

summary $'\n100% tests passed, 0 tests failed out of 12\n' 0 -R 'two words'
check "all pass: last line" [ "$last" = "12 passed, 0 failed" ]
check "all pass: status" [ "$status" -eq 0 ]
check "arguments reach ctest" has "$calls" "-R two words"
summary $'50% tests passed, 4 tests failed out of 8\n\nThe following tests did not run:\n\t  1 - A.b (Skipped)\n\t  3 - A.d (Disabled)
\t  6 - skip (Skipped)\n\nThe following tests FAILED:\n\t  5 - bad (Failed)\n\t 10 - crash (SEGFAULT)' 8
check "some fail: last line" [ "$last" = "2 passed, 4 failed, 3 skipped" ]
check "some fail: status" [ "$status" -eq 1 ]
summary 'No tests were found!!!' 0
check "none ran: last line" [ "$last" = "0 passed, 0 failed" ]
check "none ran: status" [ "$status" -eq 1 ]
summary $'100% tests passed, 0 tests failed out of 1\n\nThe following tests did not run:\n\t  6 - skip (Skipped)' 0
check "only skipped: last line" [ "$last" = "0 passed, 0 failed, 1 skipped" ]
check "only skipped: status" [ "$status" -eq 1 ]
mkdir -p "$tree/build/Testing/Temporary"
printf 'ok\nparts skipped: 3\nand parts skipped: 9 is said\nparts skipped: 2\n' >"$tree/build/Testing/Temporary/LastTest.log"
summary $'\n100% tests passed, 0 tests failed out of 12\n' 0
check "skipped parts: last line" [ "$last" = "12 passed, 0 failed, 5 skipped" ]
rm -r -- "$tree/build/Testing"
fresh
stub cmake 'if [ "$1" = --version ]; then echo "cmake version 3.25.1"; else echo "CMake Error: no"; exit 1; fi'
output=$(cd / && CXX='' CALLS=$work/calls QUADRILLE_OS_RELEASE=$work/os-release PATH=$work/bin:/usr/bin:/bin "$tree/run-tests" 2>&1)
status=$?
check "a failing build: last line" [ "$(tail -n 1 <<<"$output")" = "0 passed, 1 failed" ]
check "a failing build: status" [ "$status" -eq 1 ]

# quickstart: figures need matplotlib, and its last line is the path of a report with them.
cp "$root/quickstart" "$tree/"
fresh
stub id 'echo 0'
stub python3 'exit 0'
stub dpkg-query 'for word in "$@"; do [[ $word == -* || $word == python3-matplotlib ]] || echo "$word installed"; done; exit 1'
mkdir -p "$tree/build"
printf '#!/bin/bash\n[ "$1" != report ] || echo "$2/report/report.html"\n' >"$tree/build/quadrille"
chmod +x "$tree/build/quadrille"
output=$(cd / && CXX='' CALLS=$work/calls QUADRILLE_OS_RELEASE=$work/os-release PATH=$work/bin:/usr/bin:/bin "$tree/quickstart" 2>&1)
status=$?
calls=$(grep '^apt-get' "$work/calls")
check "quickstart: ends well" [ "$status" -eq 0 ]
check "quickstart: installs matplotlib" has "$calls" "install --yes --no-install-recommends python3-matplotlib"
check "quickstart: ends with the path of a report" has "$(tail -n 1 <<<"$output")" "/a tree/build/quickstart/propagator/report/report.html"

[ "$failures" -eq 0 ] && echo "setup: all as it should be"
exit "$((failures > 0))"
