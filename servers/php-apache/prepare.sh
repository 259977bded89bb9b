# What both start scripts do first: lays out in scratch what the workers read. Starts no server.
# Sourced, with PORT, SCRATCH, PHP_COMMAND, JIT and the settings in the environment.

set -eu
# The workers run as another user where we are root, and may not enter the folder we are in.
cp -Rp public src "$SCRATCH"
cp php.ini "$SCRATCH"
chmod -R a+rX "$SCRATCH/public" "$SCRATCH/src" "$SCRATCH/php.ini"

# No ini file of the system is scanned; what is no part of this PHP itself is loaded here.
export PHP_INI_SCAN_DIR=
built_in=$("$PHP_COMMAND" -n -m)
for extension in mysqlnd pdo pdo_mysql; do
    echo "$built_in" | grep -qix "$extension" || echo "extension=$extension" >>"$SCRATCH/php.ini"
done
echo "$built_in" | grep -qx "Zend OPcache" || echo "zend_extension=opcache" >>"$SCRATCH/php.ini"
