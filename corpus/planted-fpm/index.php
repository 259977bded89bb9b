<?php
// GET /work does $WORK: wait:MS, visit:MS (waits MS in the session that all requests share), count:KIB (adds KIB to a journal that
// one process at a time writes, and waits until they are on the disk).
function used_us(): int
{
    $used = getrusage();
    return 1_000_000 * ($used['ru_utime.tv_sec'] + $used['ru_stime.tv_sec']) + $used['ru_utime.tv_usec'] + $used['ru_stime.tv_usec'];
}

function compute(int $ms): string
{
    for ($x = 1, $ends = used_us() + 1000 * $ms; used_us() < $ends;) {
        for ($i = 0; $i < 1000; $i++) {
            $x = ($x * 1103515245 + 12345) & 0x7fffffff;
        }
    }
    return (string) $x;
}

function visit(int $ms): void
{
    session_save_path($_SERVER['SCRATCH']);
    session_id('shared');
    session_start(['use_cookies' => 0]);
    $_SESSION['visits'] = ($_SESSION['visits'] ?? 0) + 1;
    usleep(1000 * $ms);
}

function count_in(int $kib): void
{
    $journal = fopen($_SERVER['SCRATCH'] . '/journal', 'c');
    flock($journal, LOCK_EX);
    // Always the same place, so that the file does not grow; other bytes, so that there is something to write.
    fwrite($journal, random_bytes($kib << 10));
    fsync($journal);
    fclose($journal);
}

header('Content-Type: text/plain');
$ms = (int) ($_GET['ms'] ?? 0);
switch (parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH)) {
    case '/':
        echo 'hello';
        break;
    case '/wait':
        usleep(1000 * $ms);
        echo 'waited';
        break;
    case '/compute':
        echo compute($ms);
        break;
    case '/work':
        [$what, $n] = explode(':', $_SERVER['WORK']);
        match ($what) {
            'wait' => usleep(1000 * $n),
            'visit' => visit($n),
            'count' => count_in($n),
        };
        echo 'done';
        break;
    default:
        http_response_code(404);
}
