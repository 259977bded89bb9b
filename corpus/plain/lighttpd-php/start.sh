#!/bin/sh
# lighttpd in the foreground, which starts php-cgi.
set -eu
PROGRAM=$PWD
export PROGRAM
exec "$LIGHTTPD" -D -f lighttpd.conf
