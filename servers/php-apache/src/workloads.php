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

    /** The characters of a file, codes 65 to 121. */
    private const CHARACTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxy';

    /** Byte n becomes character n modulo 57; of the longer of two lists strtr leaves out the rest. */
    private const FIVE_TIMES
        = self::CHARACTERS . self::CHARACTERS . self::CHARACTERS . self::CHARACTERS . self::CHARACTERS;

    /** Written out, since a constant is made once and what a function makes is made on each request. */
    private const ALL_BYTES = ''
        . "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"
        . "\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f"
        . "\x20\x21\x22\x23\x24\x25\x26\x27\x28\x29\x2a\x2b\x2c\x2d\x2e\x2f"
        . "\x30\x31\x32\x33\x34\x35\x36\x37\x38\x39\x3a\x3b\x3c\x3d\x3e\x3f"
        . "\x40\x41\x42\x43\x44\x45\x46\x47\x48\x49\x4a\x4b\x4c\x4d\x4e\x4f"
        . "\x50\x51\x52\x53\x54\x55\x56\x57\x58\x59\x5a\x5b\x5c\x5d\x5e\x5f"
        . "\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f"
        . "\x70\x71\x72\x73\x74\x75\x76\x77\x78\x79\x7a\x7b\x7c\x7d\x7e\x7f"
        . "\x80\x81\x82\x83\x84\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d\x8e\x8f"
        . "\x90\x91\x92\x93\x94\x95\x96\x97\x98\x99\x9a\x9b\x9c\x9d\x9e\x9f"
        . "\xa0\xa1\xa2\xa3\xa4\xa5\xa6\xa7\xa8\xa9\xaa\xab\xac\xad\xae\xaf"
        . "\xb0\xb1\xb2\xb3\xb4\xb5\xb6\xb7\xb8\xb9\xba\xbb\xbc\xbd\xbe\xbf"
        . "\xc0\xc1\xc2\xc3\xc4\xc5\xc6\xc7\xc8\xc9\xca\xcb\xcc\xcd\xce\xcf"
        . "\xd0\xd1\xd2\xd3\xd4\xd5\xd6\xd7\xd8\xd9\xda\xdb\xdc\xdd\xde\xdf"
        . "\xe0\xe1\xe2\xe3\xe4\xe5\xe6\xe7\xe8\xe9\xea\xeb\xec\xed\xee\xef"
        . "\xf0\xf1\xf2\xf3\xf4\xf5\xf6\xf7\xf8\xf9\xfa\xfb\xfc\xfd\xfe\xff";

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
        return strtr(random_bytes(self::FILE_BYTES), self::ALL_BYTES, self::FIVE_TIMES);
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
        spin($spinUs);
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
