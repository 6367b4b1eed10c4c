#!/usr/bin/env bash
# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs every kernel of the suites under compute-sanitizer's memcheck, racecheck
# and initcheck, and sums up. Exit code 0: no tool found anything.
#
#   benchmarks/sanitize.sh [LOGS]        LOGS: folder for the logs; default ./sanitizer-logs
#
# Environment: SUITES="seed84 membound", DTYPES="f32 bf16", FILTER=regex,
# TARGET=sm_90a, TOOLS="memcheck racecheck initcheck", JOBS=1 (packages watched
# at once), PYTHON=python3.

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

# watch TOOL PACKAGE: the package's kernels under the tool; the log ends with the exit code.
# shellcheck disable=SC2317  # xargs calls it
watch() {
  local tool=$1 folder=$packages/$1-$2 log=$logs/$1/$2.log options=()
  [[ $tool == memcheck ]] && options=(--leak-check full)
  [[ $tool == racecheck ]] && options=(--racecheck-report all)
  mkdir -p "$folder" && ln -s "../$2.deplo" "$folder"
  compute-sanitizer --tool "$tool" "${options[@]}" --error-exitcode 9 --print-limit 20 \
    "$python" "$here/sanitize.py" run "$folder" >"$log" 2>&1
  echo "exit code $?" >>"$log"
}
export -f watch
export here logs packages python

tools=${TOOLS:-memcheck racecheck initcheck}
names=$(cd "$packages" && printf '%s\n' *.deplo | sed 's/\.deplo$//')
for tool in $tools; do
  rm -rf "${logs:?}/$tool" && mkdir -p "$logs/$tool"
  for name in $names; do echo "$tool $name"; done
done | xargs -P "${JOBS:-1}" -L 1 bash -c 'watch "$@"' watch

bad=0
for tool in $tools; do
  clean=0 found=()
  for name in $names; do
    if [[ $(tail -n 1 "$logs/$tool/$name.log") == 'exit code 0' ]]; then clean=$((clean + 1)); else found+=("$name"); fi
  done
  ((${#found[@]} == 0)) || bad=1
  kernels=$(cat "$logs/$tool"/*.log | awk '/ packages ran, / { sum += $1 } END { print sum + 0 }')
  echo "$tool: $kernels kernels, $clean packages clean, ${#found[@]} not${found[*]:+: ${found[*]}}"
done
exit $bad
