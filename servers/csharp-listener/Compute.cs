// What handlers compute. Nothing here waits.
using System;
using System.Collections.Generic;
using System.Security.Cryptography;
using System.Text;

public static class Compute
{
    const int FileCharacters = 108000;
    const int Lowest = 65;
    const int Highest = 121;

    // SHA-256 of `content`; each further round hashes `content` and the digest before. In hex.
    public static string Digest(byte[] content, int rounds)
    {
        using (var sha256 = SHA256.Create())
        {
            var digest = sha256.ComputeHash(content);
            for (var round = 1; round < rounds; round++)
            {
                sha256.Initialize();
                sha256.TransformBlock(content, 0, content.Length, null, 0);
                sha256.TransformFinalBlock(digest, 0, digest.Length);
                digest = sha256.Hash;
            }
            return BitConverter.ToString(digest).Replace("-", "").ToLowerInvariant();
        }
    }

    // A sieve of Eratosthenes.
    public static List<int> Primes(int below)
    {
        var composite = new bool[below];
        var primes = new List<int>();
        for (var number = 2; number < below; number++)
        {
            if (composite[number])
            {
                continue;
            }
            primes.Add(number);
            for (var multiple = (long)number * number; multiple < below; multiple += number)
            {
                composite[multiple] = true;
            }
        }
        return primes;
    }

    // Random characters, made one at a time.
    public static byte[] TextFilledEach()
    {
        var random = new Random();
        var text = new StringBuilder();
        for (var made = 0; made < FileCharacters; made++)
        {
            text.Append((char)random.Next(Lowest, Highest + 1));
        }
        return Encoding.ASCII.GetBytes(text.ToString());
    }

    // Random characters, made all at once.
    public static byte[] TextFilledInBulk()
    {
        var text = new byte[FileCharacters];
        using (var random = RandomNumberGenerator.Create())
        {
            random.GetBytes(text);
        }
        for (var at = 0; at < text.Length; at++)
        {
            text[at] = (byte)(Lowest + text[at] % (Highest - Lowest + 1));
        }
        return text;
    }

    // The letters a to z over and over.
    public static byte[] Letters(int length)
    {
        var letters = new byte[length];
        for (var at = 0; at < length; at++)
        {
            letters[at] = (byte)('a' + at % 26);
        }
        return letters;
    }
}
