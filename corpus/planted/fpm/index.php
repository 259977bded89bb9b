<?php
// GET /work does $WORK: wait:MS, visit:MS (waits MS in the session that all requests share), commit:KIB (as databases in a file
// commit: with the one lock, it writes KIB into a journal and KIB into the data, and waits for the disk each time).
function used_us(): int
{
    $used = getrusage();
    return 1_000_000 * ($used['ru_utime.tv_sec'] + $used['ru_stime.tv_sec'])
        + $used['ru_utime.tv_usec'] + $used['ru_stime.tv_usec'];
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

function commit(int $kib): void
{
    $record = str_repeat(pack('J', hrtime(true)), $kib * 128);
    $lock = fopen($_SERVER['SCRATCH'] . '/lock', 'c');
    flock($lock, LOCK_EX);
    foreach (['journal', 'data'] as $name) {
        $file = fopen($_SERVER['SCRATCH'] . "/$name", 'c');
        fwrite($file, $record);
        fsync($file);
        fclose($file);
    }
    unlink($_SERVER['SCRATCH'] . '/journal');
    fclose($lock);
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
            'commit' => commit($n),
        };
        echo 'done';
        break;
    default:
        http_response_code(404);
}
