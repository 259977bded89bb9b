<?php

// The front controller: which path is which workload, and how an answer leaves. What a workload does is in src/.
// Apache and php-fpm run it alike; it knows nothing of either.

declare(strict_types=1);

require __DIR__ . '/../src/parameters.php';
require __DIR__ . '/../src/spin.php';
require __DIR__ . '/../src/workloads.php';

// A warning, such as a file that could not be written, must not pass as an answer.
set_error_handler(static function (int $severity, string $message, string $file, int $line): bool {
    if (!(error_reporting() & $severity)) {
        return false; // silenced by an @
    }
    throw new ErrorException($message, 0, $severity, $file, $line);
});

try {
    // Not parse_url: it fails on targets such as "//", which any client may send.
    route(explode('?', $_SERVER['REQUEST_URI'], 2)[0]);
} catch (BadParameter $error) {
    answer('text/plain', $error->getMessage(), 400);
} catch (Throwable $error) {
    error_log(sprintf('%s: %s (%s:%d)', $error::class, $error->getMessage(), $error->getFile(), $error->getLine()));
    answer('text/plain', 'it failed', 500);
}

function route(string $path): void
{
    $workload = match ($path) {
        '/hello' => Workloads::hello(...),
        '/todos' => Workloads::todos(...),
        '/hash' => Workloads::hash(...),
        '/file' => Workloads::file(...),
        '/options' => Workloads::options(...),
        '/rows' => Workloads::rows(...),
        '/primes' => Workloads::primes(...),
        '/mix' => Workloads::mix(...),
        default => null,
    };
    if ($workload === null) {
        answer('text/plain', 'no such path', 404);
    } elseif ($_SERVER['REQUEST_METHOD'] !== 'GET') {
        header('Allow: GET');
        answer('text/plain', 'only GET', 405);
    } else {
        answer(...$workload());
    }
}

function answer(string $contentType, string $body, int $status = 200): void
{
    http_response_code($status);
    header('Content-Type: ' . $contentType);
    // Without a length, what exceeds PHP's output buffer would leave in chunks.
    header('Content-Length: ' . strlen($body));
    echo $body;
}
