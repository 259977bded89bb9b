#!/bin/sh
# start.sh CONF PORT SCRATCH VALUE: nginx in the foreground, with what CONF leaves open filled in.
set -eu
[ "$(id -u)" -ne 0 ] || user='user root;'
sed -e "s/@PORT@/$2/; s/@VALUE@/$4/; s/@USER@/${user-}/" "$1" >"$3/nginx.conf"
exec nginx -p "$3" -e stderr -c "$3/nginx.conf"
