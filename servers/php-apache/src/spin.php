<?php

// The CPU work of the workload mix: a plain arithmetic loop that ends by the clock of the process's own CPU time.

declare(strict_types=1);

/** Between two looks at the clock: some 50 µs of PHP's. */
const PIECE_ROUNDS = 4_000;

/** Uses the CPU for so many microseconds. The number it ends at is of no interest. */
function spin(int $us): int
{
    $x = 1;
    for ($until = cpuUs() + $us; cpuUs() < $until;) {
        for ($round = 0; $round < PIECE_ROUNDS; $round++) {
            $x = ($x * 1664525 + 1013904223) & 0xFFFFFFFF;
        }
    }
    return $x;
}

/** Of this process, which has one thread. */
function cpuUs(): int
{
    $usage = getrusage();
    return 1_000_000 * ($usage['ru_utime.tv_sec'] + $usage['ru_stime.tv_sec'])
        + $usage['ru_utime.tv_usec'] + $usage['ru_stime.tv_usec'];
}
