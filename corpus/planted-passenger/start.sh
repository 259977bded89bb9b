#!/bin/sh
# Passenger's files lie in the scratch folder, and Apache runs in the foreground.
mkdir -p "$SCRATCH/app/public" "$SCRATCH/registry"
cp config.ru "$SCRATCH/app/"
exec "$APACHE" -DFOREGROUND -f "$PWD/apache.conf"
