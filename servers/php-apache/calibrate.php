<?php

// Prints how many rounds of spin() this PHP does in a microsecond. Run before the server listens, under the same
// php.ini, so that the same compiler makes the same code of it.

declare(strict_types=1);

require __DIR__ . '/src/spin.php';

const PIECE_US = 5_000;
const WARM_UP_NS = 50_000_000;
const LIMIT_NS = 250_000_000;

/** In time on the processor: what others take of it meanwhile does not count. */
function tookUs(int $rounds): int
{
    $began = processorUs();
    spin($rounds);
    return processorUs() - $began;
}

function processorUs(): int
{
    $usage = getrusage();
    return 1_000_000 * ($usage['ru_utime.tv_sec'] + $usage['ru_stime.tv_sec'])
        + $usage['ru_utime.tv_usec'] + $usage['ru_stime.tv_usec'];
}

$began = hrtime(true);
$rounds = 1000;
while (tookUs($rounds) < PIECE_US) {
    $rounds *= 2;
}
while (hrtime(true) - $began < WARM_UP_NS) {
    spin($rounds);
}
// The best piece: a cold cache or a busy sibling of the core only ever slow it down.
$leastUs = tookUs($rounds);
while (hrtime(true) - $began < LIMIT_NS) {
    $leastUs = min($leastUs, tookUs($rounds));
}
printf("%.3f\n", $rounds / $leastUs);
