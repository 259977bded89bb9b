<?php
// A master and WORKERS processes, each of which polls its connections and runs a handler to its end:
// php server.php PORT WORKERS WORK SCRATCH. GET /work does WORK: wait:MS, token:MS (waits so long with a lock that all
// processes share), ledger:KIB (writes so much into a file of this process, and waits for the disk).

[, $port, $workers, $work, $scratch] = $argv;
[$what, $n] = explode(':', $work);

function used_us(): int
{
    $used = getrusage();
    return 1_000_000 * ($used['ru_utime.tv_sec'] + $used['ru_stime.tv_sec'])
        + $used['ru_utime.tv_usec'] + $used['ru_stime.tv_usec'];
}

function compute(float $ms): string
{
    for ($x = 1, $ends = used_us() + 1000 * $ms; used_us() < $ends;) {
        for ($i = 0; $i < 1000; $i++) {
            $x = ($x * 1103515245 + 12345) & 0x7fffffff;
        }
    }
    return (string) $x;
}

function waited(float $ms): string
{
    usleep((int) (1000 * $ms));
    return 'waited';
}

function token(float $ms): string
{
    global $scratch;
    static $lock = null;
    $lock ??= fopen("$scratch/token", 'c');
    flock($lock, LOCK_EX);
    usleep((int) (1000 * $ms));
    flock($lock, LOCK_UN);
    return 'token';
}

function ledger(int $kib): string
{
    global $scratch;
    static $file = null;
    $file ??= fopen("$scratch/ledger-" . getmypid(), 'c');
    rewind($file);
    fwrite($file, str_repeat(pack('J', hrtime(true)), $kib * 128));
    fsync($file);
    return 'written';
}

function answer(string $target): ?string
{
    global $what, $n;
    parse_str(parse_url($target, PHP_URL_QUERY) ?? '', $query);
    $ms = (float) ($query['ms'] ?? 0);
    return match (parse_url($target, PHP_URL_PATH)) {
        '/' => 'hello',
        '/wait' => waited($ms),
        '/compute' => compute($ms),
        '/work' => match ($what) {
            'wait' => waited((float) $n),
            'token' => token((float) $n),
            'ledger' => ledger((int) $n),
        },
        default => null,
    };
}

function serve($connection): void
{
    $body = answer(explode(' ', fread($connection, 8192), 3)[1] ?? '');
    $status = $body === null ? '404 Not Found' : '200 OK';
    $length = strlen($body ?? '');
    @fwrite($connection, "HTTP/1.1 $status\r\nContent-Type: text/plain\r\nContent-Length: $length\r\n\r\n$body");
}

function work($listener): void
{
    $connections = [];
    while (true) {
        $read = [$listener, ...$connections];
        $none = null;
        if (!@stream_select($read, $none, $none, null)) {
            continue;
        }
        foreach ($read as $stream) {
            if ($stream === $listener) {
                // Another process may have been faster.
                if ($connection = @stream_socket_accept($listener, 0)) {
                    stream_set_blocking($connection, false);
                    $connections[(int) $connection] = $connection;
                }
            } elseif (stream_socket_recvfrom($stream, 1, STREAM_PEEK) === '' || feof($stream)) {
                unset($connections[(int) $stream]);
                fclose($stream);
            } else {
                serve($stream);
            }
        }
    }
}

$context = stream_context_create(['socket' => ['backlog' => 1024, 'tcp_nodelay' => true]]);
$listener = stream_socket_server("tcp://127.0.0.1:$port", context: $context);
stream_set_blocking($listener, false);
$children = [];
for ($i = 0; $i < (int) $workers; $i++) {
    $child = pcntl_fork();
    if ($child === 0) {
        work($listener);
    }
    $children[] = $child;
}
pcntl_async_signals(true);
pcntl_signal(SIGTERM, function () use (&$children): void {
    array_map(fn (int $child) => posix_kill($child, SIGTERM), $children);
    exit(0);
});
pcntl_wait($status);
// A worker that ends ends all.
array_map(fn (int $child) => posix_kill($child, SIGTERM), $children);
exit(1);
