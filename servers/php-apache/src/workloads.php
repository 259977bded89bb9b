<?php

// What each workload does: a method that returns the content type and the body.
// Everything blocks, as PHP does: while a request waits, its process waits.
// In no namespace, where every call of a function of PHP's own would be looked for in that first.

declare(strict_types=1);

final class Workloads
{
    private const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
    private const FILE_BYTES = 108_000;
    private const LEAST_CODE = 65;
    private const MOST_CODE = 121;

    private const TODOS = [
        ['id' => 1, 'title' => 'Renew the TLS certificate', 'done' => false, 'priority' => 1, 'due' => '2027-01-08'],
        ['id' => 2, 'title' => 'Rotate the backup keys', 'done' => true, 'priority' => 2, 'due' => '2027-01-11'],
        ['id' => 3, 'title' => 'Answer the audit questions', 'done' => false, 'priority' => 2, 'due' => '2027-01-15'],
        ['id' => 4, 'title' => 'Order two spare disks', 'done' => true, 'priority' => 3, 'due' => '2027-01-19'],
        ['id' => 5, 'title' => 'Review the on-call rota', 'done' => false, 'priority' => 3, 'due' => '2027-01-22'],
        ['id' => 6, 'title' => 'Plan the database upgrade', 'done' => false, 'priority' => 1, 'due' => '2027-01-29'],
    ];

    public static function hello(): array
    {
        $delayMs = wholeNumber('delay_ms', 0, 0, 60_000);
        if ($delayMs > 0) {
            usleep($delayMs * 1000);
        }
        return ['text/plain', 'Hello, World!'];
    }

    public static function todos(): array
    {
        return self::json(self::TODOS);
    }

    public static function hash(): array
    {
        $rounds = wholeNumber('n', 1, 1, 100_000);
        $content = file_get_contents(getenv('HASH_FILE'));
        $digest = hash('sha256', $content, binary: true);
        for ($round = 1; $round < $rounds; $round++) {
            $context = hash_init('sha256');
            hash_update($context, $content);
            hash_update($context, $digest);
            $digest = hash_final($context, binary: true);
        }
        return ['text/plain', bin2hex($digest)];
    }

    public static function file(): array
    {
        $text = oneOf('fill', ['each', 'bulk']) === 'each' ? self::filledOneByOne() : self::filledInBulk();
        $name = getenv('FILES_FOLDER') . '/' . bin2hex(random_bytes(16));
        try {
            file_put_contents($name, $text);
            return ['text/plain', file_get_contents($name)];
        } finally {
            @unlink($name); // absent if it could not even be made, and that is the error to tell
        }
    }

    private static function filledOneByOne(): string
    {
        $text = '';
        for ($i = 0; $i < self::FILE_BYTES; $i++) {
            $text .= chr(mt_rand(self::LEAST_CODE, self::MOST_CODE));
        }
        return $text;
    }

    private static function filledInBulk(): string
    {
        $bytes = implode(array_map(chr(...), range(0, 255)));
        $letters = implode(array_map(chr(...), range(self::LEAST_CODE, self::MOST_CODE)));
        $inRange = substr(str_repeat($letters, intdiv(256, strlen($letters)) + 1), 0, 256);
        return strtr(random_bytes(self::FILE_BYTES), $bytes, $inRange);
    }

    public static function options(): array
    {
        return self::json(self::selected(
            'SELECT option_id, option_name, option_value, autoload FROM wp_options ORDER BY option_id LIMIT 50',
        ));
    }

    public static function rows(): array
    {
        return self::json(self::selected('SELECT id, title, author, year, pages FROM books ORDER BY id LIMIT 10'));
    }

    public static function primes(): array
    {
        $below = wholeNumber('below', 1_000_000, 0, 10_000_000);
        if ($below <= 2) {
            return self::json([]);
        }
        $isPrime = array_fill(0, $below, true);
        for ($number = 2; $number * $number < $below; $number++) {
            if ($isPrime[$number]) {
                for ($multiple = $number * $number; $multiple < $below; $multiple += $number) {
                    $isPrime[$multiple] = false;
                }
            }
        }
        $primes = [];
        for ($number = 2; $number < $below; $number++) {
            if ($isPrime[$number]) {
                $primes[] = $number;
            }
        }
        return self::json($primes);
    }

    public static function mix(): array
    {
        $waitMs = wholeNumber('wait_ms', 0, 0, 60_000);
        $spinUs = wholeNumber('spin_us', 0, 0, 10_000_000);
        $bytes = wholeNumber('bytes', 13, 0, 10_000_000);
        if ($waitMs > 0) {
            usleep($waitMs * 1000);
        }
        spin((int) ($spinUs * (float) getenv('ROUNDS_PER_US')));
        $letters = str_repeat(self::LETTERS, intdiv($bytes, strlen(self::LETTERS)) + 1);
        return ['text/plain', substr($letters, 0, $bytes)];
    }

    private static function json(array $value): array
    {
        return ['application/json', json_encode($value, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES)];
    }

    private static function selected(string $query): array
    {
        $database = new PDO(
            sprintf(
                'mysql:host=%s;port=%s;dbname=%s;charset=utf8mb4',
                getenv('DB_HOST'),
                getenv('DB_PORT'),
                getenv('DB_NAME'),
            ),
            getenv('DB_USER'),
            getenv('DB_PASSWORD'),
            [PDO::ATTR_PERSISTENT => (bool) (int) getenv('POOL')],
        );
        return $database->query($query)->fetchAll(PDO::FETCH_ASSOC);
    }
}
