<?php
// ReactPHP's HTTP server, with causes to plant: php server.php PORT BESIDE_PORT WORK UPLOADS.
// GET /work does WORK: wait:MS (by a timer), ask:MS (asks the service beside, which answers after so long), import:MS (waits so long, while
// a child process imports a list over and over). With UPLOADS the server takes so many requests at a time, with bodies up to 16 MiB.
use Psr\Http\Message\ServerRequestInterface;
use React\ChildProcess\Process;
use React\EventLoop\Factory;
use React\Http\Browser;
use React\Http\Message\Response;
use React\Http\Middleware\LimitConcurrentRequestsMiddleware;
use React\Http\Middleware\RequestBodyBufferMiddleware;
use React\Http\Middleware\RequestBodyParserMiddleware;
use React\Http\Middleware\StreamingRequestMiddleware;
use React\Http\Server;
use React\Promise\Timer;
use React\Socket\Server as Socket;

require '/usr/share/icingaweb2/modules/reactbundle/vendor/autoload.php';

[, $port, $beside, $work, $uploads] = $argv;
[$what, $n] = explode(':', $work);

function used_us(): int
{
    $used = getrusage();
    return 1_000_000 * ($used['ru_utime.tv_sec'] + $used['ru_stime.tv_sec'])
        + $used['ru_utime.tv_usec'] + $used['ru_stime.tv_usec'];
}

function compute(float $ms): string
{
    $ends = used_us() + 1000 * $ms;
    $x = 1;
    while (used_us() < $ends) {
        for ($i = 0; $i < 2000; $i++) {
            $x = ($x * 1103515245 + 12345) & 0x7fffffff;
        }
    }
    return (string) $x;
}

function text(string $body, int $status = 200): Response
{
    return new Response($status, ['Content-Type' => 'text/plain'], $body);
}

$loop = Factory::create();
$browser = new Browser($loop);

function import($loop): void
{
    $process = new Process(
        'exec ' . PHP_BINARY . ' -r ' . escapeshellarg(
            'for ($rows = []; count($rows) < 150000;) { $rows[] = md5((string) count($rows)); } sort($rows);'
        )
    );
    $process->start($loop);
    $process->on('exit', fn () => $loop->addTimer(0.1, fn () => import($loop)));
}

if ($what === 'import') {
    import($loop);
}

$handler = function (ServerRequestInterface $request) use ($loop, $browser, $what, $n, $beside) {
    $ms = (float) ($request->getQueryParams()['ms'] ?? 0);
    switch ($request->getUri()->getPath()) {
        case '/':
            return text('hello');
        case '/wait':
            return Timer\resolve($ms / 1000, $loop)->then(fn () => text('waited'));
        case '/compute':
            return text(compute($ms));
        case '/work':
            if ($what === 'ask') {
                return $browser->get("http://127.0.0.1:$beside/offer?ms=$n")->then(
                    fn ($answer) => text((string) $answer->getBody()),
                    fn ($error) => text($error->getMessage(), 502)
                );
            }
            return Timer\resolve($n / 1000, $loop)->then(fn () => text('done'));
        default:
            return text('not found', 404);
    }
};

// As the manual shows it for uploads: what is buffered at a time must fit into memory.
$buffering = $uploads == 0 ? [] : [
    new StreamingRequestMiddleware(),
    new LimitConcurrentRequestsMiddleware((int) $uploads),
    new RequestBodyBufferMiddleware(16 * 1024 * 1024),
    new RequestBodyParserMiddleware(),
];
$server = new Server($loop, ...[...$buffering, $handler]);
$server->listen(new Socket("127.0.0.1:$port", $loop));
$loop->run();
