<?php
// An event loop over stream_select with a fiber for each connection: php server.php PORT BESIDE_PORT WORK.
// GET /work does WORK: wait:MS (by the loop), ask:MS (asks the server at BESIDE_PORT by a client that blocks the loop).

[, $port, $beside, $work] = $argv;
[$what, $n] = explode(':', $work);

/** What waits: fibers for a stream to be readable, and for a time. */
final class Loop
{
    private array $streams = [];
    private array $readers = [];
    private SplPriorityQueue $timers;

    public function __construct()
    {
        $this->timers = new SplPriorityQueue();
        $this->timers->setExtractFlags(SplPriorityQueue::EXTR_BOTH);
    }

    public function readable($stream): void
    {
        $this->streams[(int) $stream] = $stream;
        $this->readers[(int) $stream] = Fiber::getCurrent();
        Fiber::suspend();
    }

    public function sleep(float $ms): void
    {
        $this->timers->insert(Fiber::getCurrent(), -(hrtime(true) + $ms * 1e6));
        Fiber::suspend();
    }

    public function run(): void
    {
        while (true) {
            $left_us = $this->timers->isEmpty()
                ? 1_000_000
                : max(0, (int) ceil((-$this->timers->top()['priority'] - hrtime(true)) / 1000));
            $read = $this->streams;
            $none = null;
            stream_select($read, $none, $none, 0, $left_us);
            foreach ($read as $stream) {
                $fiber = $this->readers[(int) $stream];
                unset($this->streams[(int) $stream], $this->readers[(int) $stream]);
                $fiber->resume();
            }
            while (!$this->timers->isEmpty() && -$this->timers->top()['priority'] <= hrtime(true)) {
                $this->timers->extract()['data']->resume();
            }
        }
    }
}

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

function waited(Loop $loop, float $ms): string
{
    $loop->sleep($ms);
    return 'waited';
}

/** Asks as a client of Redis or of a database does that knows of no loop: over one connection, which blocks. */
function ask(string $port, string $ms): string
{
    static $connection = null;
    $connection ??= stream_socket_client("tcp://127.0.0.1:$port");
    fwrite($connection, "GET /wait?ms=$ms HTTP/1.1\r\nHost: news\r\n\r\n");
    while (trim(fgets($connection)) !== '') {
    }
    return fread($connection, 4);
}

$answer = function (string $target) use (&$loop, $what, $n, $beside): ?string {
    parse_str(parse_url($target, PHP_URL_QUERY) ?? '', $query);
    $ms = (float) ($query['ms'] ?? 0);
    return match (parse_url($target, PHP_URL_PATH)) {
        '/' => 'hello',
        '/wait' => waited($loop, $ms),
        '/compute' => compute($ms),
        '/work' => match ($what) {
            'wait' => waited($loop, (float) $n),
            'ask' => ask($beside, $n),
        },
        default => null,
    };
};

$serve = function ($connection) use (&$loop, $answer): void {
    stream_set_blocking($connection, false);
    for ($head = ''; ; $head = '') {
        while (!str_contains($head, "\r\n\r\n")) {
            $loop->readable($connection);
            $read = fread($connection, 8192);
            if ($read === '' || $read === false) {
                fclose($connection);
                return;
            }
            $head .= $read;
        }
        $body = $answer(explode(' ', $head, 3)[1] ?? '');
        $status = $body === null ? '404 Not Found' : '200 OK';
        $length = strlen($body ?? '');
        fwrite($connection, "HTTP/1.1 $status\r\nContent-Type: text/plain\r\nContent-Length: $length\r\n\r\n$body");
    }
};

$loop = new Loop();
$context = stream_context_create(['socket' => ['backlog' => 1024, 'tcp_nodelay' => true]]);
$listener = stream_socket_server("tcp://127.0.0.1:$port", context: $context);
stream_set_blocking($listener, false);
$accept = new Fiber(function () use ($loop, $listener, $serve): void {
    while (true) {
        $loop->readable($listener);
        while ($connection = @stream_socket_accept($listener, 0)) {
            (new Fiber($serve))->start($connection);
        }
    }
});
$accept->start();
$loop->run();
