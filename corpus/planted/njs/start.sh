#!/bin/sh
# start.sh PORT SCRATCH WORKERS NOFILE LOGS WORK: nginx in the foreground. LOGS: 1, if old logs are compressed meanwhile.
set -eu
[ "$(id -u)" -ne 0 ] || user='user root;'
cp shop.js "$2"
sed -e "s/@PORT@/$1/; s/@WORKERS@/$3/; s/@NOFILE@/$4/; s/@WORK@/$6/; s/@USER@/${user-}/" nginx.conf >"$2/nginx.conf"
if [ "$5" -eq 1 ]; then
    seq 1 2000000 >"$2/access.log.1"
    # It ends with nginx, whose process this one becomes.
    (while kill -0 $$ 2>/dev/null; do gzip -9 <"$2/access.log.1" >"$2/access.log.1.gz"; done) &
fi
exec nginx -p "$2" -e stderr -c "$2/nginx.conf"
