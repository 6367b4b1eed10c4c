# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What every script uses. Source it first.

set -euo pipefail
shopt -s inherit_errexit

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$root/build
venv=$root/.venv
logs=$root/build/logs

say() { printf '%s\n' "-- $*"; }

die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# quietly LOG COMMAND...: what the command prints goes to $logs/LOG; its end is
# shown when it fails.
quietly() {
  local log=$logs/$1
  shift
  mkdir -p "$logs"
  if ! "$@" >"$log" 2>&1 </dev/null; then
    tail -n 30 "$log" >&2
    die "this failed: $* (all it printed is in ${log#"$root"/})"
  fi
}

# The comment at the head of a script, from its third line on, is its help.
help_text() { sed -n '4,/^$/s/^# \{0,1\}//p' "$1"; }

version() { sed -n 's/^project(deplo VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt"; }
