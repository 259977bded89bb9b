<?php
// PHP's built-in server: one process, one request at a time. The process's CPU time is the thread's.
function used_ms(): float
{
    $used = getrusage();
    return ($used['ru_utime.tv_sec'] + $used['ru_stime.tv_sec']) * 1e3
        + ($used['ru_utime.tv_usec'] + $used['ru_stime.tv_usec']) / 1e3;
}

function compute(int $ms): string
{
    $ends = used_ms() + $ms;
    $x = 1;
    while (used_ms() < $ends) {
        for ($i = 0; $i < 2000; $i++) {
            $x = ($x * 1103515245 + 12345) & 0x7fffffff;
        }
    }
    return (string) $x;
}

$ms = (int) ($_GET['ms'] ?? 0);
$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
if ($path === '/wait') {
    usleep($ms * 1000);
}
http_response_code(in_array($path, ['/', '/wait', '/compute'], true) ? 200 : 404);
echo $path === '/compute' ? compute($ms) : 'done';
