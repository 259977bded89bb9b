# Starts php-fpm and nginx in front of it. Ends when either does, as a failure, and never as a success. For bash.

. ./prepare.sh

branch() {
    "$1" -n -v | sed -n 's/^PHP \([0-9]*\.[0-9]*\).*/\1/p'
}
if [ "$(branch "$FPM_COMMAND")" != "$(branch "$PHP_COMMAND")" ]; then
    echo "$FPM_COMMAND and $PHP_COMMAND are not of the same version: install php-cli and php-fpm of one" >&2
    exit 1
fi

# nginx has no variables in listen and keepalive_*.
requests=$REQUESTS_PER_CONNECTION
if [ "$requests" = 0 ]; then
    requests=2147483647
fi
sed -e "s|@PORT@|$PORT|" -e "s|@KEEP_ALIVE@|$KEEP_ALIVE|" -e "s|@REQUESTS_PER_CONNECTION@|$requests|" \
    -e "s|@SCRATCH@|$SCRATCH|" nginx.conf >"$SCRATCH/nginx.conf"
# As anybody else, nginx warns of a user it cannot become.
if [ "$(id -u)" = 0 ]; then
    as_user="user www-data;"
fi

end() {
    trap - TERM INT
    kill "$fpm" "${nginx-}" 2>/dev/null || true
    wait
    exit "$1"
}
trap 'end 143' TERM INT

# Where this script is killed both end with it. Nobody else would know them: they write their titles over the
# environment that says who started them.
setpriv --pdeathsig TERM "$FPM_COMMAND" --nodaemonize --force-stderr \
    -c "$SCRATCH/php.ini" --fpm-config "$PWD/fpm.conf" &
fpm=$!
# nginx would answer 502 for as long as there is no socket.
while [ ! -S "$SCRATCH/php-fpm.sock" ] && kill -0 "$fpm" 2>/dev/null; do
    sleep 0.01
done
setpriv --pdeathsig TERM "$NGINX_COMMAND" -e stderr -p "$SCRATCH" -c nginx.conf -g "daemon off; ${as_user-}" &
nginx=$!

wait -n "$fpm" "$nginx" || true
if kill -0 "$fpm" 2>/dev/null; then
    echo "nginx ended unasked" >&2
else
    echo "php-fpm ended unasked" >&2
fi
end 1
