#!/bin/sh
# Starts Apache in the foreground, with PORT, SCRATCH, APACHE, WORKERS, OPCACHE, ARTICLES and WORK in the environment.
set -eu
export MODULES=/usr/lib/apache2/modules
PHP=$(echo "$MODULES"/libphp*.so)
export PHP
# The workers run as another user where we are root, and may not enter the folder we are in.
mkdir "$SCRATCH/www"
cp index.php "$SCRATCH/www"
php write.php "$ARTICLES" >"$SCRATCH/www/catalogue.php"
chmod -R a+rX "$SCRATCH/www"
exec "$APACHE" -D FOREGROUND -f "$PWD/apache.conf"
