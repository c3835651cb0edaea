#!/usr/bin/env bash
# tidy.sh [--all] [JOBS]: clang-tidy, with the checks of .clang-tidy, over the C++ that differs from
# main, or over all of it. A changed header means the sources of its folder. A finding fails. All of
# it goes in groups of sources, which saves time.
set -euo pipefail
cd "$(dirname "$0")/.."
all=
[ "${1-}" != --all ] || { all=1; shift; }
cmake --preset tidy -DCLOCHE_UNITY=$([ -n "$all" ] && echo ON || echo OFF) > /dev/null  # for its compile_commands.json; nothing is built
if [ -n "$all" ]; then
  mapfile -t files < <(sed -n 's/^ *"file": "\(.*\)",\?$/\1/p' build-tidy/compile_commands.json | sort -u)
else
  base=$(git merge-base HEAD main 2> /dev/null || git merge-base HEAD origin/main 2> /dev/null || git rev-parse HEAD~1)
  mapfile -t files < <(git diff --name-only --diff-filter=d "$base" -- '*.cc' '*.h' |
    while read -r file; do
      case $file in *.h) git ls-files "${file%/*}/*.cc" ;; *) echo "$file" ;; esac
    done | sort -u)
fi
[ ${#files[@]} -gt 0 ] || { echo "nothing differs from main"; exit 0; }
printf '%s\n' "${files[@]}" | xargs -P "${1:-$(nproc)}" -n 1 clang-tidy-19 -p build-tidy --quiet \
  --checks=-bugprone-suspicious-include 2>&1 | { grep -v ' warnings\? generated\.$' || true; }
echo "${#files[@]} files or groups are clean"
