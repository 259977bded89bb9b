import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** The work of the Java servers: arithmetic until this thread has used so much CPU time. */
final class Work {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private Work() {}

  static String compute(long cpuMs) {
    long ends = THREADS.getCurrentThreadCpuTime() + cpuMs * 1_000_000;
    long x = 1;
    while (THREADS.getCurrentThreadCpuTime() < ends) {
      for (int i = 0; i < 20_000; i++) {
        x = (x * 1103515245 + 12345 + i) & 0x7fffffff;
      }
    }
    return Long.toString(x);
  }

  static long ms(String query) {
    return query != null && query.startsWith("ms=") ? Long.parseLong(query.substring(3)) : 0;
  }

  /** The body after waiting or computing in the calling thread; null for an unknown path. */
  static String blocking(String path, String query) throws InterruptedException {
    switch (path) {
      case "/":
        return "hello";
      case "/wait":
        Thread.sleep(ms(query));
        return "waited";
      case "/compute":
        return compute(ms(query));
      default:
        return null;
    }
  }
}
