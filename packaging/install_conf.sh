#!/bin/sh
# Puts a configuration file in place, unless there is one: install_conf.sh FILE TARGET.
# It may come to hold a password, so it is for root until systemd-tmpfiles lets the service read it.
set -eu
target="${DESTDIR:-}$2"
if [ -e "$target" ]; then
    echo "$target is there already and stays as it is"
else
    install -D -m 640 "$1" "$target"
fi
