package crumple.tomcat;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * The CPU work of the workload mix: a loop of plain arithmetic that takes as many microseconds as
 * asked.
 *
 * <p>How many rounds a microsecond holds is found out once, before the server listens.
 */
final class CpuWork {

  private static final int PIECE_ROUNDS = 5_000;
  private static final int TRY_ROUNDS = 4_000_000;
  private static final int TRIES = 20;
  private static final long WARM_UP_NANOS = 200_000_000;

  // Kept where every thread could read it: the compiler may not leave the loop out.
  private static volatile int kept = 1;

  private final double roundsPerMicro;

  private CpuWork(double roundsPerMicro) {
    this.roundsPerMicro = roundsPerMicro;
  }

  /**
   * Takes about 0.3 s: the loop runs until the JVM has compiled it, then the fastest try counts.
   */
  static CpuWork calibrated() {
    // The clock of this thread alone: on a busy machine, time goes by that the loop did not have.
    ThreadMXBean clock = ManagementFactory.getThreadMXBean();
    long begun = clock.getCurrentThreadCpuTime();
    while (clock.getCurrentThreadCpuTime() - begun < WARM_UP_NANOS) {
      work(PIECE_ROUNDS);
    }
    long fastest = Long.MAX_VALUE;
    for (int i = 0; i < TRIES; i++) {
      long start = clock.getCurrentThreadCpuTime();
      work(TRY_ROUNDS);
      fastest = Math.min(fastest, clock.getCurrentThreadCpuTime() - start);
    }
    return new CpuWork(1_000.0 * TRY_ROUNDS / fastest);
  }

  void spin(int micros) {
    work(Math.round(micros * roundsPerMicro));
  }

  private static void work(long rounds) {
    int x = kept;
    // In pieces, so that it is always the same compiled loop that runs.
    for (long left = rounds; left > 0; left -= PIECE_ROUNDS) {
      x = piece(x, (int) Math.min(left, PIECE_ROUNDS));
    }
    kept = x;
  }

  private static int piece(int x, int rounds) {
    int result = x;
    for (int i = 0; i < rounds; i++) {
      // The counter breaks the chain: Java 25 folds sixteen rounds of the plain formula into one.
      result = (result ^ i) * 1_664_525 + 1_013_904_223;
    }
    return result;
  }
}
