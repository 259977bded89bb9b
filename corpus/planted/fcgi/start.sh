#!/bin/sh
# start.sh PORT SCRATCH THREADS WORK: the program, and nginx in front of it; both end when one of them does.
set -u
[ "$(id -u)" -ne 0 ] || user='user root;'
sed -e "s/@PORT@/$1/; s|@SCRATCH@|$2|; s/@USER@/${user-}/" nginx.conf >"$2/nginx.conf"
./server "$2/program.socket" "$3" "$4" &
program=$!
nginx -p "$2" -e stderr -c "$2/nginx.conf" &
front=$!
trap 'kill $program $front' TERM INT
while kill -0 $program 2>/dev/null && kill -0 $front 2>/dev/null; do sleep 1; done
kill $program $front 2>/dev/null
