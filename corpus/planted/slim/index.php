<?php
// Slim on Apache with mod_php. GET /work does $WORK: wait:MS, or catalogue (reads the catalogue, which a program has written as PHP).
use Psr\Http\Message\ResponseInterface as Response;
use Psr\Http\Message\ServerRequestInterface as Request;

require '/usr/share/php/Slim/autoload.php';

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

function text(Response $response, string $body): Response
{
    $response->getBody()->write($body);
    return $response->withHeader('Content-Type', 'text/plain');
}

$ms = fn (Request $request): float => (float) ($request->getQueryParams()['ms'] ?? 0);

$app = new Slim\App();
$app->get('/', fn (Request $request, Response $response) => text($response, 'hello'));
$app->get('/wait', function (Request $request, Response $response) use ($ms) {
    usleep((int) (1000 * $ms($request)));
    return text($response, 'waited');
});
$app->get('/compute', fn (Request $request, Response $response) => text($response, compute($ms($request))));
$app->get('/work', function (Request $request, Response $response) {
    [$what, $n] = explode(':', getenv('WORK') . ':');
    if ($what === 'catalogue') {
        $catalogue = require __DIR__ . '/catalogue.php';
        return text($response, $catalogue['article 17']['name']);
    }
    usleep(1000 * (int) $n);
    return text($response, 'done');
});
$app->run();
