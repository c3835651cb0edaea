#!/usr/bin/env bash
# sanitize.sh [JOBS]: builds the programs and unit tests with AddressSanitizer and
# UndefinedBehaviorSanitizer into build-asan, then runs the unit tests and the main scenarios with
# them. A finding fails.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${1:-$(nproc)}
build=build-asan

# Each of the paths through our processes once; the plain build runs all of them in every mode.
scenarios=(
  run.rootless background.rootless lifecycle.shared limits.system services.system
  promote.system promote_again.rootless promote_beside.shared diff.rootless time_travel.shared
  egress.system secrets.shared signing.shared
)

launcher=()
[ -z "$(command -v ccache)" ] || launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
cmake --preset asan "${launcher[@]}" > /dev/null
cmake --build $build -j "$jobs" --target sanitized

# Without optimization these take minutes, and do the same thing over and over.
slow=MergeTexts.HostileTextsAreMergedInBoundedWork:MergeAsGit.*:GlobsAsGit.*:VaultTest.EveryChangedByteIsRefused
# A program at a time: a process for every test, as CTest does it, costs a minute more.
failed=0
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT
export log slow
find $build/tests -maxdepth 1 -name '*_tests' -print0 | xargs -0 -P "$jobs" -I {} bash -c '
  name=${1##*/}
  "$1" --gtest_brief=1 --gtest_filter="-$slow" > "$log/$name" 2>&1 && echo "ok   $name" && exit
  echo "FAIL $name"; sed "s/^/     | /" "$log/$name" | tail -n 100
  exit 1' run {} || failed=1

pattern=$(IFS='|'; echo "${scenarios[*]}")
ctest --test-dir $build --output-on-failure --no-tests=error -j "$jobs" \
  -R "^(scenario\.(${pattern//./\\.})|sanitizer\..*|fuzz\..*)\$" || failed=1
exit $failed
