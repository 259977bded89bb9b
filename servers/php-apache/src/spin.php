<?php

// The CPU work of the workload mix. How many rounds a microsecond takes is calibrate.php's to say.

declare(strict_types=1);

/** The last of $rounds numbers of a linear congruential generator: a result that no compiler can do without. */
function spin(int $rounds): int
{
    $x = 1;
    for ($round = 0; $round < $rounds; $round++) {
        $x = ($x * 1664525 + 1013904223) & 0xFFFFFFFF;
    }
    return $x;
}
