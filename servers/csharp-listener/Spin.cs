// CPU work of a given length: a plain arithmetic loop that ends by the clock of the thread's own CPU time.
using System;
using System.Runtime.InteropServices;

public static class Spin
{
    // Between two looks at the clock: some 50 µs.
    const int PieceRounds = 40000;

    const int ThreadCpuTime = 3;

    // The number it ends at is of no interest; returned, so that no compiler leaves the loop out.
    public static uint For(int microseconds)
    {
        var x = 1u;
        for (var until = CpuNanoseconds() + 1000L * microseconds; CpuNanoseconds() < until;)
        {
            for (var round = 0; round < PieceRounds; round++)
            {
                x = unchecked(x * 1664525u + 1013904223u);
            }
        }
        return x;
    }

    // Of .NET's own clocks of CPU time none is a single thread's.
    static long CpuNanoseconds()
    {
        if (clock_gettime(ThreadCpuTime, out var now) != 0)
        {
            throw new InvalidOperationException("no clock of the thread's CPU time");
        }
        return 1000000000L * (long)now.Seconds + (long)now.Nanoseconds;
    }

    [StructLayout(LayoutKind.Sequential)]
    struct Timespec
    {
        public IntPtr Seconds;
        public IntPtr Nanoseconds;
    }

    [DllImport("libc", SetLastError = true)]
    static extern int clock_gettime(int clock, out Timespec now);
}
