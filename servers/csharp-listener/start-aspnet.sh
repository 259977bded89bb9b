# Starts the FastCGI host with the ASP.NET application and nginx in front of it, and ends as soon as either does, never
# with success by itself. PORT, SCRATCH, the commands and the settings are in the environment.

set -eu
# Where ASP.NET puts what it makes of the application as it starts.
export TMPDIR="$SCRATCH"

# nginx has no variables in listen and keepalive_timeout.
sed -e "s|@PORT@|$PORT|" -e "s|@KEEP_ALIVE@|$KEEP_ALIVE|" -e "s|@SCRATCH@|$SCRATCH|" nginx.conf >"$SCRATCH/nginx.conf"
# nginx's workers keep the user we are: the host's socket is ours. As anybody else than root, nginx does so by itself.
if [ "$(id -u)" = 0 ]; then
    as_user="user root;"
fi

end() {
    trap - TERM INT
    kill "$host" "${nginx-}" 2>/dev/null || true
    wait
    exit "$1"
}
trap 'end 143' TERM INT

# Mono's FastCGI host keeps a thread of the pool waiting for every request, asynchronous or not. If requests hold all of
# them, none is left to finish one; so it takes fewer at once than there are threads, and the others wait in its queue.
requests=$((REQUESTS * $(nproc)))
# A request beyond --maxreqs would be turned away, and the one before it may still be on its way out.
MONO_THREADS_PER_CPU=$THREADS MONO_OPTIONS=--server "$FASTCGI_COMMAND" --applications="/:$PWD/application" \
    --socket="unix:$SCRATCH/aspnet.sock" --backlog=4096 --maxconns=$requests --maxreqs=$((2 * requests)) &
host=$!
# nginx would answer 502 for as long as there is no socket.
while [ ! -S "$SCRATCH/aspnet.sock" ] && kill -0 "$host" 2>/dev/null; do
    sleep 0.01
done
"$NGINX_COMMAND" -e stderr -p "$SCRATCH" -c nginx.conf -g "daemon off; ${as_user-}" &
nginx=$!

wait -n "$host" "$nginx" || true
if kill -0 "$host" 2>/dev/null; then
    echo "nginx ended unasked" >&2
else
    echo "the FastCGI host ended unasked" >&2
fi
end 1
