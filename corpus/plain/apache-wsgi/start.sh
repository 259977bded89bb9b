#!/bin/sh
# Starts Apache in the foreground, with PORT, SCRATCH, APACHE, PROCESSES and THREADS in the environment.
set -eu
export MODULES=/usr/lib/apache2/modules
# The workers run as another user where we are root, and may not enter the folder we are in.
cp application.wsgi "$SCRATCH"
chmod a+r "$SCRATCH/application.wsgi"
exec "$APACHE" -D FOREGROUND -f "$PWD/apache.conf"
