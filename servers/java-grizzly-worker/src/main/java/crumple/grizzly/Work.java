package crumple.grizzly;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** What a request of the workload mix asks for beside its wait. */
final class Work {

  private static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();

  // Some 10 µs, once the JVM has compiled it.
  private static final int ROUNDS = 10_000;

  // Kept where every thread could read it: the compiler may not leave the loop out.
  private static volatile int kept = 1;

  private Work() {}

  /** Computes until the thread has used so many microseconds of CPU time. */
  static void spin(int micros) {
    long end = CLOCK.getCurrentThreadCpuTime() + 1_000L * micros;
    while (CLOCK.getCurrentThreadCpuTime() < end) {
      int x = kept;
      for (int round = 0; round < ROUNDS; round++) {
        // The counter breaks the chain: Java 25 folds sixteen rounds of the plain formula into one.
        x = (x ^ round) * 1_664_525 + 1_013_904_223;
      }
      kept = x;
    }
  }

  /** The letters a to z, over and over. */
  static byte[] letters(int length) {
    byte[] letters = new byte[length];
    for (int i = 0; i < length; i++) {
      letters[i] = (byte) ('a' + i % 26);
    }
    return letters;
  }
}
