#!/bin/sh
# Runs the suites under the sanitizers: address and undefined behaviour together, then threads.
#   tools/sanitize.sh [address|thread ...]
# Each has a build folder of its own (build-asan, build-tsan). Run are the unit tests, the fuzz
# corpora, the contract suite on both databases, and end-to-end suites of catch-up, the updater,
# enrichment and event streams; with address those of the server, dumps, verify, dead letters and
# doctor. Any report of a sanitizer ends its program at once, and so fails a test: a different exit
# code would not do for the stand-in upstream, which tests kill.
#
# Nothing is suppressed. The libraries are not instrumented, but what they lock with is seen (the
# thread sanitizer stands in for pthread's functions), and that has been enough. A suppression that
# becomes necessary is for a library of others only, in a file named in TSAN_OPTIONS, with a reason.
set -eu
cd "$(dirname "$0")/.."
export ASAN_OPTIONS="detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1"
export UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1"
# Its wait of a second at every exit would look like a slow stop.
export TSAN_OPTIONS="atexit_sleep_ms=0:halt_on_error=1:second_deadlock_stack=1"
SLOWER=10 # how much longer than usual a test may take; only one that hangs should notice

broken=
run_one() { # NAME OF THE SANITIZERS, BUILD FOLDER, END-TO-END SUITES
    echo "== $1 ($2)"
    [ -f "$2/build.ninja" ] || meson setup "$2" -Db_sanitize="$1" -Db_lundef=false >/dev/null
    ninja -C "$2" --quiet
    meson test -C "$2" --suite unit --suite fuzz --suite contract --no-rebuild -t "$SLOWER" \
        --print-errorlogs --quiet || broken="$broken $1:suites"
    for suite in $3; do
        echo "-- $suite"
        TAIN_BUILD="$2" TEST_PATIENCE="$SLOWER" \
            python3 -B -m unittest discover -f -s tests/e2e -p "test_$suite.py" ||
            broken="$broken $1:$suite"
    done
}

# Threads: catch-up has the most of them, and the slowest sanitizer.
ALL="catchup updater serve feed cdc_ws enrich enrich_lanes dump dump_trouble verify dead_letter"
ALL="$ALL doctor"

for kind in ${*:-address thread}; do
    case "$kind" in
    address) run_one address,undefined build-asan "$ALL" ;;
    thread) run_one thread build-tsan "catchup updater hn_api cdc_ws mirror_of_mirror enrich" ;;
    *) echo "sanitize.sh: '$kind' is neither 'address' nor 'thread'" >&2; exit 2 ;;
    esac
done
if [ -n "$broken" ]; then
    echo "sanitize: failed:$broken" >&2
    exit 1
fi
echo "sanitize: clean"
