#!/bin/sh
# Passenger's files lie in the scratch folder, and Apache runs in the foreground. If root starts it, it runs as another user.
mkdir -p "$SCRATCH/app/public" "$SCRATCH/registry"
touch "$SCRATCH/passenger.log"
chmod 1777 "$SCRATCH/registry"
chmod 666 "$SCRATCH/passenger.log"
cp config.ru apache.conf "$SCRATCH/app/"
chmod a+r "$SCRATCH/app/config.ru"
# The other user may not enter the folder we are in.
cd "$SCRATCH"
if [ "$(id -u)" = 0 ]; then
  set -- -C "User www-data" -C "Group www-data"
fi
exec "$APACHE" -DFOREGROUND "$@" -f "$SCRATCH/app/apache.conf"
