// CPU work of a given length: a plain arithmetic loop, and how many of its rounds fit in a microsecond here.
using System;
using System.Diagnostics;

public static class Spin
{
    const double PieceSeconds = 0.005;
    const double WarmUpSeconds = 0.05;
    const int Pieces = 20;

    static double roundsPerUs;

    // To be called before the first request; the best of several pieces, since what disturbs one makes it slower.
    public static void Calibrate()
    {
        var warming = Stopwatch.StartNew();
        var rounds = 100000L;
        while (warming.Elapsed.TotalSeconds < WarmUpSeconds)
        {
            rounds = (long)(rounds * PieceSeconds / TookSeconds(rounds));
        }
        for (var piece = 0; piece < Pieces; piece++)
        {
            roundsPerUs = Math.Max(roundsPerUs, rounds / (TookSeconds(rounds) * 1e6));
        }
    }

    // The number it ends at is of no interest; returned, so that no compiler leaves the loop out.
    public static uint For(int microseconds) => Turn((long)(microseconds * roundsPerUs));

    static uint Turn(long rounds)
    {
        var x = 1u;
        for (var round = 0L; round < rounds; round++)
        {
            x = unchecked(x * 1664525u + 1013904223u);
        }
        return x;
    }

    static double TookSeconds(long rounds)
    {
        var clock = Stopwatch.StartNew();
        Turn(rounds);
        return clock.Elapsed.TotalSeconds;
    }
}
