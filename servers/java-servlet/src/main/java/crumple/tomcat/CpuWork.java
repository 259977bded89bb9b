package crumple.tomcat;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * The CPU work of the workload mix: a loop of plain arithmetic that takes as many microseconds as
 * asked.
 */
interface CpuWork {

  void spin(int micros);

  /** Ends by the clock of the thread's own CPU time. */
  static CpuWork onPlatformThreads() {
    ThreadMXBean clock = ManagementFactory.getThreadMXBean();
    return micros -> {
      long end = clock.getCurrentThreadCpuTime() + 1_000L * micros;
      while (clock.getCurrentThreadCpuTime() < end) {
        Piece.turn();
      }
    };
  }

  /**
   * Counts time piece by piece, and of a piece that was interrupted no more than {@link
   * Piece#AT_MOST_NANOS}: a virtual thread has no clock of CPU time.
   */
  static CpuWork onVirtualThreads() {
    return micros -> {
      long left = 1_000L * micros;
      for (long last = System.nanoTime(); left > 0; ) {
        Piece.turn();
        long now = System.nanoTime();
        left -= Math.min(now - last, Piece.AT_MOST_NANOS);
        last = now;
      }
    };
  }

  /** What is done between two looks at the clock. */
  final class Piece {

    // What takes longer was interrupted: the virtual thread or its carrier was away meanwhile.
    static final long AT_MOST_NANOS = 100_000;

    // Some 10 µs, once the JVM has compiled it.
    private static final int ROUNDS = 10_000;

    // Kept where every thread could read it: the compiler may not leave the loop out.
    private static volatile int kept = 1;

    private Piece() {}

    static void turn() {
      int x = kept;
      for (int round = 0; round < ROUNDS; round++) {
        // The counter breaks the chain: Java 25 folds sixteen rounds of the plain formula into one.
        x = (x ^ round) * 1_664_525 + 1_013_904_223;
      }
      kept = x;
    }
  }
}
