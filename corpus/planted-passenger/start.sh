#!/bin/sh
# Passenger's files lie in the scratch folder, and Apache runs in the foreground. If root starts it, it runs as another user.
mkdir -p "$SCRATCH/app/public" "$SCRATCH/registry"
chmod 1777 "$SCRATCH/registry"
cp config.ru "$SCRATCH/app/"
if [ "$(id -u)" = 0 ]; then
  set -- -C "User www-data" -C "Group www-data"
fi
exec "$APACHE" -DFOREGROUND "$@" -f "$PWD/apache.conf"
