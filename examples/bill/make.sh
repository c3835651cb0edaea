#!/usr/bin/env bash
# make.sh DIRECTORY: a project with a failing test, its history of two commits, and a package registry beside it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
cp -R "$here/project" project
cp "$here/remainder.patch" .
python3 -B "$here/../publish.py" registry "$here"/registry/*

cd project
git init -q -b main .
git config user.name 'A. Developer'
git config user.email developer@example.com
# Nothing of the caller's own settings.
git config commit.gpgsign false
git config core.hooksPath /dev/null
cp "$here/before/bill.py" bill.py
git add -A
git commit -qm 'Split a bill'
cp "$here/project/bill.py" bill.py
git commit -qam 'Split with pennies instead of by hand'
make --no-print-directory install
