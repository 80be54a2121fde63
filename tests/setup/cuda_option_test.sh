#!/usr/bin/env bash
# What QUADRILLE_CUDA=AUTO|ON|OFF makes of an nvcc that cannot compile, and of the one that is here, and what QUADRILLE_NCCL
# makes of it: configures only.
#
#   cuda_option_test.sh ROOT GENERATOR CXX NVCC    NVCC may be empty
set -u
root=$1 generator=$2 cxx=$3 nvcc=$4
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
failures=0
printf '#!/bin/sh\necho "this nvcc is broken" >&2\nexit 1\n' >"$work/broken"
chmod +x "$work/broken"
unset CUDAARCHS CUDAFLAGS

configured() { # NVCC ARGUMENT...: sets status and output
  local compiler=$1
  shift
  rm -rf -- "$work/build"
  output=$(CUDACXX=$compiler cmake -S "$root" -B "$work/build" -G "$generator" -DCMAKE_CXX_COMPILER="$cxx" \
    -DQUADRILLE_TESTS=OFF "$@" 2>&1)
  status=$?
}
check() { # WHAT CONDITION...
  local what=$1
  shift
  if "$@"; then return; fi
  failures=$((failures + 1))
  printf 'FAILED: %s\n  status %s\n  output %s\n' "$what" "$status" "$output"
}
has() { [[ $1 == *"$2"* ]]; }
lacks() { ! has "$@"; }
built() { grep -q 'backend/cuda/conversions\.cu' "$work/build/compile_commands.json"; }
not_built() { ! built; }

configured "$work/broken"
check "AUTO, the default, with a broken nvcc: configures" [ "$status" -eq 0 ]
check "AUTO with a broken nvcc: says why there is no CUDA" has "$output" "No CUDA backend: $work/broken cannot compile C++20 with $cxx"
check "AUTO with a broken nvcc: what it said" has "$output" "this nvcc is broken"
check "AUTO with a broken nvcc: without CUDA" not_built

configured "$work/broken" -DQUADRILLE_CUDA=ON
check "ON with a broken nvcc: an error" [ "$status" -ne 0 ]
check "ON with a broken nvcc: says why" has "$output" "QUADRILLE_CUDA=ON: $work/broken cannot compile C++20"

configured "${nvcc:-$work/broken}" -DQUADRILLE_CUDA=OFF
check "OFF: configures" [ "$status" -eq 0 ]
check "OFF: nothing about CUDA" lacks "$output" "CUDA"
check "OFF: without CUDA" not_built
check "OFF: without NCCL" lacks "$output" "NCCL"

configured "${nvcc:-$work/broken}" -DQUADRILLE_CUDA=OFF -DQUADRILLE_NCCL=ON
check "NCCL without CUDA: an error" [ "$status" -ne 0 ]
check "NCCL without CUDA: says why" has "$output" "QUADRILLE_NCCL=ON: it joins the GPUs of MPI's ranks"

if [ -n "$nvcc" ]; then
  configured "$nvcc"
  check "AUTO: configures" [ "$status" -eq 0 ]
  check "AUTO: for 8.0 and 9.0" has "$output" "CUDA backend: $nvcc for compute capabilities 80;90"
  check "AUTO: with CUDA" built
  check "AUTO: code for both" grep -q 'arch=compute_80.*arch=compute_90' "$work/build/compile_commands.json"
  configured "$nvcc" -DQUADRILLE_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=90
  check "ON: for what is asked for" has "$output" "CUDA backend: $nvcc for compute capabilities 90"
  check "ON: with CUDA" built
  if has "$output" "NCCL between the GPUs of ranks"; then
    check "NCCL: built where it is found" grep -q 'comm[/_]nccl' "$work/build/compile_commands.json"
    configured "$nvcc" -DQUADRILLE_CUDA=ON -DQUADRILLE_NCCL=OFF
    check "NCCL OFF: not built" lacks "$(cat "$work/build/compile_commands.json")" nccl_links.cpp
    configured "$nvcc" -DQUADRILLE_CUDA=ON -DQUADRILLE_NCCL=ON -DQUADRILLE_NCCL_LIBRARY="$work/broken"
    check "NCCL ON with what is no library: an error" [ "$status" -ne 0 ]
    check "NCCL ON with what is no library: says why" has "$output" "QUADRILLE_NCCL=ON: $work/broken cannot be used (2.14 or later"
  fi
fi

[ "$failures" -eq 0 ] && echo "setup: all as it should be"
exit "$((failures > 0))"
