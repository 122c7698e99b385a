#!/bin/sh
# Runs the tests that are named, or all of them.
cd "$(dirname "$0")/.." || exit 1
[ $# -gt 0 ] || set -- hello version bye hola shout help
failed=0
for name in "$@"; do
    if sh "tests/$name.sh"; then
        echo "ok    $name"
    else
        echo "FAILS $name"
        failed=1
    fi
done
exit $failed
