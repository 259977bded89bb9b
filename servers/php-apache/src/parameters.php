<?php

// The query's parameters as meant: whole numbers within a range, and words of a list.

declare(strict_types=1);

final class BadParameter extends Exception
{
}

function wholeNumber(string $name, int $default, int $least, int $most): int
{
    $text = $_GET[$name] ?? (string) $default;
    // More digits than an int holds give the largest int, which is out of every range.
    if (!is_string($text) || !preg_match('/^\d+$/D', $text) || (int) $text < $least || (int) $text > $most) {
        throw new BadParameter("$name must be a whole number from $least to $most");
    }
    return (int) $text;
}

/** @param non-empty-list<string> $words the first is the default */
function oneOf(string $name, array $words): string
{
    $text = $_GET[$name] ?? $words[0];
    if (!in_array($text, $words, true)) {
        throw new BadParameter("$name must be one of " . implode(', ', $words));
    }
    return $text;
}
