#!/bin/sh
# Installs the Debian packages that are missing, and nothing when none is.
#   tools/setup.sh build    what it takes to build and run tain
#   tools/setup.sh deb      that, and what makes a Debian package of it
#   tools/setup.sh test     that, and what the tests and benchmarks start
#   tools/setup.sh bench    that, and what tain is measured against
#   tools/setup.sh lint     that, and what looks over the sources: make lint, fuzz, sanitize
set -eu

build_packages="gcc libc6-dev make meson ninja-build pkgconf python3 libcurl4-openssl-dev
    libsqlite3-dev libpq-dev libmicrohttpd-dev libwslay-dev libxxhash-dev libconfuse-dev
    libjansson-dev libidn2-dev libxml2-dev libzstd-dev zlib1g-dev libssl-dev libsystemd-dev"
deb_packages="dpkg-dev ca-certificates systemd"
test_packages="libcmocka-dev postgresql-15 pgbouncer nginx-core nghttp2-server openssl zstd wrk
    util-linux iproute2 hostname clang clang-format prometheus mandoc zsh chromium"
bench_packages="curl wget ripgrep"
lint_packages="clang-tidy cppcheck libclang-rt-14-dev"
# Other sources of nodejs bring npm along, and refuse Debian's: what is there is enough.
if ! command -v node >/dev/null 2>&1 || ! command -v npm >/dev/null 2>&1; then
    test_packages="$test_packages nodejs npm"
fi

case "${1:-build}" in
build) wanted=$build_packages ;;
deb) wanted="$build_packages $deb_packages" ;;
test) wanted="$build_packages $deb_packages $test_packages" ;;
bench) wanted="$build_packages $deb_packages $test_packages $bench_packages" ;;
lint) wanted="$build_packages $deb_packages $test_packages $lint_packages" ;;
*) echo "setup.sh: '$1' is none of 'build', 'deb', 'test', 'bench' and 'lint'" >&2; exit 2 ;;
esac

missing=
for package in $wanted; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
    echo "setup.sh: no apt-get here; install these packages by hand:$missing" >&2
    exit 1
fi
as_root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "setup.sh: run as root, or install sudo, to get:$missing" >&2
        exit 1
    fi
    as_root=sudo
fi

# The tests start their own servers; installing a package must not start one for good.
guard=/usr/sbin/policy-rc.d
made_guard=
if [ ! -e "$guard" ]; then
    printf '#!/bin/sh\nexit 101\n' | $as_root tee "$guard" >/dev/null
    $as_root chmod 755 "$guard"
    made_guard=yes
fi
finish() { [ -z "$made_guard" ] || $as_root rm -f "$guard"; }
trap finish EXIT

log=$(mktemp)
echo "setup: installing$missing"
if ! { $as_root apt-get update &&
       $as_root env DEBIAN_FRONTEND=noninteractive \
           apt-get install -y --no-install-recommends $missing
     } >"$log" 2>&1; then
    cat "$log" >&2
    echo "setup.sh: apt-get failed; the lines above say why" >&2
    exit 1
fi
rm -f "$log"
