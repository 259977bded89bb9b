#!/bin/bash
# php-fpm with nginx in front of it; both end when either does.
set -eu
user=$(id -un)
as_user=
if [ "$user" = root ]; then
    user=www-data
    as_user="user www-data;"
fi
mkdir "$SCRATCH/fpm"
chmod 1777 "$SCRATCH/fpm"
# Where the program lies that other user may not read.
install -m 644 index.php "$SCRATCH/fpm/index.php"
sed -e "s|@USER@|$user|" fpm.conf >"$SCRATCH/fpm.conf"
sed -e "s|@PORT@|$PORT|; s|@SCRATCH@|$SCRATCH|; s|@WORK@|$WORK|; s|@USER@|$as_user|" nginx.conf \
    >"$SCRATCH/nginx.conf"

# Whoever ends this script ends both.
setpriv --pdeathsig TERM "$FPM" --nodaemonize --force-stderr --fpm-config "$SCRATCH/fpm.conf" &
while [ ! -S "$SCRATCH/fpm.sock" ] && kill -0 $! 2>/dev/null; do
    sleep 0.01
done
setpriv --pdeathsig TERM "$NGINX" -e stderr -p "$SCRATCH" -c nginx.conf -g "daemon off;" &
trap 'kill $(jobs -p) 2>/dev/null; wait; exit 143' TERM INT
wait -n || true
kill $(jobs -p) 2>/dev/null || true
exit 1
