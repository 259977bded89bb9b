package planted;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import spark.Request;
import spark.Spark;

/**
 * Spark with causes to plant: Planted PORT THREADS WORK. GET /work does WORK: wait:MS, number:MS (the next number of an invoice, which
 * one thread at a time may make), parse:ROWS (makes so many rows of what came, and keeps them until a hundred others came).
 */
public final class Planted {
  private static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();
  private static final int LIVE = 1_000_000;

  private final String what;
  private final int n;
  private final List<String[]> catalogue = new ArrayList<>();
  private final AtomicReferenceArray<List<String>> sheets = new AtomicReferenceArray<>(100);
  private final AtomicInteger parsed = new AtomicInteger();
  private long numbers;

  private Planted(String work) {
    what = work.split(":")[0];
    n = Integer.parseInt(work.split(":")[1]);
    for (int i = 0; what.equals("parse") && i < LIVE; i++) {
      catalogue.add(new String[] {"article " + i});
    }
  }

  public static void main(String[] arguments) {
    Planted planted = new Planted(arguments[2]);
    Spark.ipAddress("127.0.0.1");
    Spark.port(Integer.parseInt(arguments[0]));
    int threads = Integer.parseInt(arguments[1]);
    Spark.threadPool(threads, threads, 60_000);
    Spark.get("/", (request, response) -> "hello");
    Spark.get("/wait", (request, response) -> pause(milliseconds(request)));
    Spark.get("/compute", (request, response) -> Long.toString(compute(milliseconds(request))));
    Spark.get("/work", (request, response) -> planted.work());
  }

  private static int milliseconds(Request request) {
    return request.queryParams("ms") == null ? 0 : Integer.parseInt(request.queryParams("ms"));
  }

  private static String pause(int ms) throws InterruptedException {
    Thread.sleep(ms);
    return "waited";
  }

  private static long compute(int ms) {
    long ends = CLOCK.getCurrentThreadCpuTime() + ms * 1_000_000L;
    long x = 1;
    while (CLOCK.getCurrentThreadCpuTime() < ends) {
      for (int i = 0; i < 10_000; i++) {
        x = (x * 1103515245 + 12345 + i) & 0x7fffffff;
      }
    }
    return x;
  }

  private String work() throws InterruptedException {
    return switch (what) {
      case "wait" -> pause(n);
      case "number" -> number();
      case "parse" -> parse();
      default -> throw new IllegalArgumentException(what);
    };
  }

  private synchronized String number() {
    numbers += 1;
    return numbers + "-" + compute(n);
  }

  private String parse() {
    List<String> rows = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      rows.add("row " + i + " of a sheet that somebody sent");
    }
    sheets.set(Math.floorMod(parsed.getAndIncrement(), sheets.length()), rows);
    return "parsed";
  }
}
