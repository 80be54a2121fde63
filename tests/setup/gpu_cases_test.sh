#!/usr/bin/env bash
# Where no GPU answers ctest finds one case of the label gpu, which is skipped, or fails with QUADRILLE_REQUIRE_GPU=1.
#
#   gpu_cases_test.sh BUILD CTEST      of a build with the CUDA backend; GPUs that there are are hidden
set -u
build=$1 ctest=$2
export CUDA_VISIBLE_DEVICES=
unset QUADRILLE_REQUIRE_GPU
work=$(mktemp -d)  # beside the build, where the log of a ctest that runs this lies
trap 'rm -rf -- "$work"' EXIT
printf 'subdirs("%s")\n' "$build" >"$work/CTestTestfile.cmake"
failures=0
check() { # WHAT CONDITION...
  local what=$1
  shift
  if "$@"; then return; fi
  failures=$((failures + 1))
  printf 'FAILED: %s\n%s\n' "$what" "$output"
}
has() { [[ $output == *"$1"* ]]; }
gpu() { output=$(cd -- "$work" && "$ctest" -L '^gpu$' "$@" 2>&1 </dev/null); status=$?; }

gpu --show-only
check "one case is registered" has "Total Tests: 1"
check "and it says whether a GPU answers" has "gpu.Gpu.Answers"
gpu
check "it is skipped" has "gpu.Gpu.Answers (Skipped)"
check "which is no failure" [ "$status" -eq 0 ]
export QUADRILLE_REQUIRE_GPU=1
gpu
check "it fails where a GPU is required" has "gpu.Gpu.Answers (Failed)"
check "with a status" [ "$status" -ne 0 ]
exit "$((failures > 0))"
