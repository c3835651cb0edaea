#!/usr/bin/env bash
# format.sh [--fix]: C++ is formatted as .clang-format says.
set -euo pipefail
cd "$(dirname "$0")/../.."
# One version, because versions disagree.
if ! command -v clang-format-14 > /dev/null; then
  echo "SKIP: clang-format-14 is missing: tools/deps.sh test"
  exit 77
fi
mode=(--dry-run -Werror)
[ "${1-}" != --fix ] || mode=(-i)
git -c safe.directory='*' ls-files -z --cached --others --exclude-standard '*.h' '*.cc' |
  xargs -0 -r clang-format-14 "${mode[@]}"
