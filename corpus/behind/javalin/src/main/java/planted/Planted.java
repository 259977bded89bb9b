package planted;

import io.javalin.Javalin;
import io.javalin.http.Context;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Javalin with causes to plant: Planted PORT BESIDE_PORT WORK SCRATCH. GET /work does WORK: get:MS (asks a cache, which takes so
 * long, over a pool of connections), buffer:KIB (reads so much into a buffer outside the heap, and drops it), journal:KIB (each
 * thread writes so much into its journal, and waits for the disk).
 */
public final class Planted {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  private static final AtomicInteger JOURNALS = new AtomicInteger();

  private final String what;
  private final int n;
  private final Cache cache;
  private final ThreadLocal<RandomAccessFile> journal;
  private final byte[] record;
  private final Map<Integer, int[]> articles = new HashMap<>();

  private Planted(int besidePort, String work, Path scratch) {
    what = work.split(":")[0];
    n = Integer.parseInt(work.split(":")[1]);
    cache = new Cache(besidePort);
    journal = ThreadLocal.withInitial(() -> open(scratch.resolve("journal-" + JOURNALS.incrementAndGet())));
    record = new byte[n << 10];
    for (int i = 0; what.equals("buffer") && i < 1_000_000; i++) {
      articles.put(i, new int[10]);
    }
  }

  public static void main(String[] arguments) {
    Planted planted = new Planted(Integer.parseInt(arguments[1]), arguments[2], Path.of(arguments[3]));
    Javalin.create(config -> config.showJavalinBanner = false)
        .get("/", context -> context.result("hello"))
        .get("/wait", Planted::pause)
        .get("/compute", context -> context.result(compute(milliseconds(context))))
        .get("/work", planted::work)
        .start("127.0.0.1", Integer.parseInt(arguments[0]));
  }

  private static int milliseconds(Context context) {
    return context.queryParamAsClass("ms", Integer.class).getOrDefault(0);
  }

  private static void pause(Context context) throws InterruptedException {
    Thread.sleep(milliseconds(context));
    context.result("waited");
  }

  private static String compute(int ms) {
    long ends = THREADS.getCurrentThreadCpuTime() + ms * 1_000_000L;
    long x = 1;
    while (THREADS.getCurrentThreadCpuTime() < ends) {
      for (int i = 0; i < 10_000; i++) {
        x = (x * 1103515245 + 12345 + i) & 0x7fffffff;
      }
    }
    return Long.toString(x);
  }

  private void work(Context context) throws Exception {
    context.result(
        switch (what) {
          case "get" -> cache.get(n);
          case "buffer" -> buffer();
          case "journal" -> write();
          default -> throw new IllegalArgumentException(what);
        });
  }

  private String buffer() {
    ByteBuffer read = ByteBuffer.allocateDirect(n << 10);
    read.putInt(articles.get(n)[0]);
    return Integer.toString(read.position());
  }

  private String write() throws IOException {
    RandomAccessFile file = journal.get();
    file.seek(0);
    file.write(record);
    return "written";
  }

  private static RandomAccessFile open(Path path) {
    try {
      return new RandomAccessFile(path.toFile(), "rwd");
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }
}
