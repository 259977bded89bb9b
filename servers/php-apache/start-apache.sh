# Starts Apache with mod_php, in the foreground and in place of this script.
# apache.conf takes what it needs from the environment.

. ./prepare.sh

PHP_MODULE=$MODULES/libphp$("$PHP_COMMAND" -n -r 'echo PHP_MAJOR_VERSION, ".", PHP_MINOR_VERSION;').so
if [ ! -e "$PHP_MODULE" ]; then
    echo "$PHP_MODULE is not there: install libapache2-mod-php of the same version as $PHP_COMMAND" >&2
    exit 1
fi
export PHP_MODULE

set --
if [ "$KEEP_ALIVE" = 0 ]; then
    set -- -D NoKeepAlive
fi
exec "$APACHE_COMMAND" -D FOREGROUND -f "$PWD/apache.conf" "$@"
