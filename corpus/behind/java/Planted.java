import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The JDK's server with a pool of threads and causes to plant. Arguments are name=value: port, threads, beside_port, pool
 * (connections to beside_port), permits, live (MiB of small objects that stay), litter=1 (a thread that makes garbage, for
 * nothing) and work. GET /work does its steps in turn, joined by "+": wait:MS, compute:MS, lock:MS (computes in a
 * synchronized method), permit:MS (waits with a permit of the semaphore), query:MS (asks the server at beside_port to
 * wait), alloc:KIB.
 */
public final class Planted {
  private record Step(String what, double n) {}

  private static final class Node {
    private final Node next;
    private long first;
    private long second;

    Node(Node next) {
      this.next = next;
    }
  }

  /** A connection to the dependency; opened when it is first used. */
  private static final class Connection {
    private Socket socket;

    void query(double ms) throws IOException {
      if (socket == null) {
        socket = new Socket(InetAddress.getLoopbackAddress(), number("beside_port", 0));
        socket.setTcpNoDelay(true);
      }
      String head = "GET /wait?ms=" + ms + " HTTP/1.1\r\nHost: dependency\r\n\r\n";
      socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
      InputStream answer = socket.getInputStream();
      StringBuilder read = new StringBuilder();
      while (read.indexOf("\r\n\r\ndone") < 0) {
        byte[] bytes = new byte[512];
        int count = answer.read(bytes);
        if (count < 0) {
          throw new IOException("the dependency has closed the connection");
        }
        read.append(new String(bytes, 0, count, StandardCharsets.US_ASCII));
      }
    }
  }

  private static final int NODES = 4096; // of 32 bytes: 128 KiB
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  private static final Map<String, String> GIVEN = new HashMap<>();
  private static final AtomicInteger OLDEST = new AtomicInteger();
  private static BlockingQueue<Connection> pool;
  private static Semaphore permits;
  private static Node[] live;

  private Planted() {}

  private static int number(String name, int otherwise) {
    return Integer.parseInt(GIVEN.getOrDefault(name, Integer.toString(otherwise)));
  }

  private static long compute(double cpuMs) {
    long ends = THREADS.getCurrentThreadCpuTime() + (long) (cpuMs * 1e6);
    long x = 1;
    while (THREADS.getCurrentThreadCpuTime() < ends) {
      for (int i = 0; i < 10_000; i++) {
        x = (x * 1103515245 + 12345 + i) & 0x7fffffff;
      }
    }
    return x;
  }

  private static synchronized long computeAlone(double cpuMs) {
    return compute(cpuMs);
  }

  private static void sleep(double ms) throws InterruptedException {
    Thread.sleep((long) ms, (int) (1e6 * (ms % 1)));
  }

  private static Node list() {
    Node head = null;
    for (int i = 0; i < NODES; i++) {
      head = new Node(head);
    }
    return head;
  }

  private static void perform(Step step) throws InterruptedException, IOException {
    switch (step.what) {
      case "wait" -> sleep(step.n);
      case "compute" -> compute(step.n);
      case "lock" -> computeAlone(step.n);
      case "permit" -> {
        permits.acquire();
        try {
          sleep(step.n);
        } finally {
          permits.release();
        }
      }
      case "query" -> {
        Connection connection = pool.take();
        try {
          connection.query(step.n);
        } finally {
          pool.add(connection);
        }
      }
      case "alloc" -> {
        for (int kib = 0; kib < step.n; kib += 128) {
          Node made = list();
          if (live.length > 0) {
            live[Math.floorMod(OLDEST.getAndIncrement(), live.length)] = made;
          }
        }
      }
      default -> throw new IllegalArgumentException(step.what);
    }
  }

  private static List<Step> parsed(String text) {
    List<Step> steps = new ArrayList<>();
    for (String part : text.split("\\+")) {
      String[] parts = part.split(":");
      steps.add(new Step(parts[0], Double.parseDouble(parts[1])));
    }
    return steps;
  }

  private static void answer(HttpExchange exchange, List<Step> work) throws IOException {
    String query = exchange.getRequestURI().getQuery();
    double ms = query != null && query.startsWith("ms=") ? Double.parseDouble(query.substring(3)) : 0;
    List<Step> steps =
        switch (exchange.getRequestURI().getPath()) {
          case "/" -> List.of();
          case "/wait" -> List.of(new Step("wait", ms));
          case "/compute" -> List.of(new Step("compute", ms));
          case "/work" -> work;
          default -> null;
        };
    try (exchange) {
      for (Step step : steps == null ? List.<Step>of() : steps) {
        perform(step);
      }
      byte[] bytes = "done".getBytes(StandardCharsets.US_ASCII);
      exchange.sendResponseHeaders(steps == null ? 404 : 200, bytes.length);
      exchange.getResponseBody().write(bytes);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private static void litter() {
    try {
      for (; ; Thread.sleep(1)) {
        list();
        list();
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  public static void main(String[] args) throws IOException {
    for (String each : args) {
      String[] parts = each.split("=", 2);
      GIVEN.put(parts[0], parts[1]);
    }
    System.setProperty("sun.net.httpserver.nodelay", "true");
    permits = new Semaphore(number("permits", 5));
    pool = new ArrayBlockingQueue<>(number("pool", 3));
    while (pool.offer(new Connection())) {}
    live = new Node[8 * number("live", 0)];
    for (int i = 0; i < live.length; i++) {
      live[i] = list();
    }
    if (number("litter", 0) == 1) {
      Thread thread = new Thread(Planted::litter);
      thread.setDaemon(true);
      thread.start();
    }
    List<Step> work = parsed(GIVEN.getOrDefault("work", "wait:0"));
    InetSocketAddress address = new InetSocketAddress("127.0.0.1", number("port", 8080));
    HttpServer server = HttpServer.create(address, 1024);
    server.setExecutor(Executors.newFixedThreadPool(number("threads", 8)));
    server.createContext("/", exchange -> answer(exchange, work));
    server.start();
  }
}
