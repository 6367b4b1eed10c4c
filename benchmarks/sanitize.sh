#!/usr/bin/env bash
# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs every kernel of the suites under compute-sanitizer's memcheck, racecheck
# and initcheck, and sums up. Exit code 0: no tool found anything.
#
#   benchmarks/sanitize.sh [LOGS]        LOGS: folder for the logs; default ./sanitizer-logs
#
# Environment: SUITES="seed84 membound", DTYPES="f32 bf16", FILTER=regex,
# TARGET=sm_90a, TOOLS="memcheck racecheck initcheck", PYTHON=python3.

set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
logs=${1:-sanitizer-logs}
python=${PYTHON:-python3}
packages=$(mktemp -d)
trap 'rm -rf "$packages"' EXIT
mkdir -p "$logs"

command -v compute-sanitizer >/dev/null || { echo "error: compute-sanitizer is not on the path" >&2; exit 1; }
for suite in ${SUITES:-seed84 membound}; do
  for dtype in ${DTYPES:-f32 bf16}; do
    "$python" "$here/sanitize.py" compile --suite "$suite" --dtype "$dtype" --filter "${FILTER:-}" \
      --target "${TARGET:-sm_90a}" --into "$packages" | tail -n 1
  done
done

bad=0
for tool in ${TOOLS:-memcheck racecheck initcheck}; do
  log=$logs/$tool.log
  options=()
  [[ $tool == memcheck ]] && options=(--leak-check full)
  [[ $tool == racecheck ]] && options=(--racecheck-report all)
  compute-sanitizer --tool "$tool" "${options[@]}" --error-exitcode 9 --print-limit 20 \
    "$python" "$here/sanitize.py" run "$packages" >"$log" 2>&1
  code=$?
  ((code == 0)) || bad=1
  echo "$tool: $(grep -E '(ERROR|RACECHECK|LEAK) SUMMARY' "$log" | sed 's/^=* *//' | paste -sd';' -); $(grep ' packages ran' "$log" || echo 'it did not get to the end'); exit code $code"
done
exit $bad
