#!/bin/sh
# Hunts with clang's fuzzer: builds every tests/fuzz/fuzz_*.c with the address and undefined
# behaviour sanitizers and runs each for FUZZ_SECONDS (120) from its corpus.
#   tools/fuzz.sh [NAME ...]    such as: FUZZ_SECONDS=600 tools/fuzz.sh html
#   tools/fuzz.sh --keep [NAME ...]    after it: a small set of inputs that reaches all that was
#                                      reached is added to tests/fuzz/corpus
# In build-fuzz: corpus/NAME keeps the inputs that reached new code, so that the next hunt goes on
# from there; findings/NAME-* are inputs that broke something. To see one again:
#   build-fuzz/fuzz_NAME build-fuzz/findings/NAME-...
# Once it is mended, the input belongs into tests/fuzz/corpus/NAME.
set -eu
cd "$(dirname "$0")/.."
out=${FUZZ_DIR:-build-fuzz}
seconds=${FUZZ_SECONDS:-120}
compiler=${CLANG:-clang}
build=${BUILD:-build} # whose libraries have what is not named below, and so is not watched
flags="-std=gnu17 -D_GNU_SOURCE -g -O1 -fno-omit-frame-pointer -Isrc -I$build/src -Itests/unit/hn
    -Itests/unit/feed
    -fno-strict-aliasing -fno-sanitize-recover=all
    $(pkg-config --cflags libidn2 libxml-2.0 libxxhash libconfuse jansson)"
libraries="-Wl,--start-group $(echo "$build"/src/*/lib*.a) -Wl,--end-group
    $(pkg-config --libs libidn2 libxml-2.0 libxxhash libconfuse jansson libcurl sqlite3 libpq \
        libmicrohttpd libzstd zlib libcrypto libsystemd) -lwslay -lpthread -lm"
# WebSocket clients, and the feed that they listen to over a log in memory.
feed="src/store/feed_id.c src/feed/client.c src/feed/event.c src/feed/filter.c src/feed/hub.c
    src/feed/hub_topics.c src/feed/link_topic.c src/feed/topic_set.c
    src/web/feed_frames.c src/web/web_metrics.c src/web/ws_out.c src/web/ws_peer.c
    src/web/ws_wire.c"
# What is posted, and all the rest of a request; searches.
posts="src/web/link_body.c src/web/parse.c src/web/address.c src/web/origin.c
    src/web/feed_key.c src/web/gzip.c src/web/search_api_params.c src/web/search_api_shape.c
    src/store/search_marks.c src/store/search_words.c"
# A stranger's link; settings, addresses of databases, dumps, specs of faults.
files="src/net/guard.c src/net/guard_address.c src/cli/config_file.c src/cli/option_value.c
    src/cli/options.c src/cli/settings.c src/cli/words.c src/cli/shapes.c src/db/secret.c
    src/mirror/dump_read.c src/demo/faults.c src/demo/faults_parse.c src/demo/stream_faults.c"
# Plans, requests and answers: what of enrich has no database behind it.
enrich="src/enrich/answer.c src/enrich/answer_path.c src/enrich/answer_value.c
    src/enrich/anthropic.c src/enrich/ask.c src/enrich/hn_search.c src/enrich/reddit.c
    src/enrich/reddit_read.c src/net/classify.c src/enrich/json_copy.c src/enrich/plan.c
    src/enrich/plan_answer.c src/enrich/plan_file.c src/enrich/plan_provider.c
    src/enrich/plan_request.c src/enrich/plan_source.c src/enrich/plan_text.c
    src/enrich/plan_value.c src/enrich/request.c src/enrich/request_check.c
    src/enrich/request_json.c src/enrich/request_pieces.c"

keep=
if [ "${1:-}" = --keep ]; then
    keep=yes
    shift
fi
names=$*
if [ -z "$names" ]; then
    for file in tests/fuzz/fuzz_*.c; do
        name=${file#tests/fuzz/fuzz_}
        names="$names ${name%.c}"
    done
fi

if [ -n "$keep" ]; then
    for name in $names; do
        [ -d "$out/corpus/$name" ] || continue
        "$out/fuzz_$name" -set_cover_merge=1 -use_counters=0 -max_len=4096 \
            "tests/fuzz/corpus/$name" "$out/corpus/$name" 2>&1 |
            sed -n "s/^MERGE-OUTER: \(.* new files\).*/$name: \1/p"
    done
    exit 0
fi

mkdir -p "$out/objects" "$out/findings"
rm -f "$out/libwatched.a"
for file in src/base/*.c src/hn/*.c $feed $posts $files $enrich; do
    object=$out/objects/$(echo "$file" | tr / _).o
    # shellcheck disable=SC2086
    $compiler $flags -fsanitize=fuzzer-no-link,address,undefined -c "$file" -o "$object"
    ar rcs "$out/libwatched.a" "$object"
done

broken=
for name in $names; do
    more=
    [ "$name" = ws ] && more=tests/unit/feed/fake_log.c
    # shellcheck disable=SC2086
    $compiler $flags -fsanitize=fuzzer,address,undefined "tests/fuzz/fuzz_$name.c" $more \
        "$out/libwatched.a" $libraries -o "$out/fuzz_$name"
    mkdir -p "$out/corpus/$name"
    echo "== $name, $seconds s"
    if ! "$out/fuzz_$name" -max_total_time="$seconds" -timeout=20 -max_len=8192 \
        -print_final_stats=1 -artifact_prefix="$out/findings/$name-" \
        "$out/corpus/$name" "tests/fuzz/corpus/$name" >"$out/$name.log" 2>&1; then
        broken="$broken $name"
        tail -n 60 "$out/$name.log"
    fi
    grep -E 'number_of_executed_units|new_units_added' "$out/$name.log" || true
done
if [ -n "$broken" ]; then
    echo "fuzz: something broke in:$broken (inputs in $out/findings)" >&2
    exit 1
fi
echo "fuzz: nothing found"
