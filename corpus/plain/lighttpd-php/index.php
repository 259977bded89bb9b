<?php
// Any process of the pool that answers is blocked meanwhile.
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
    default:
        http_response_code(404);
}
