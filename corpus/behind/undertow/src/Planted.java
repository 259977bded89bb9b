import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.undertow.Undertow;
import io.undertow.server.HttpServerExchange;
import io.undertow.util.SameThreadExecutor;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Undertow with causes to plant: Planted PORT BESIDE_PORT WORK THREADS. THREADS: how many threads run the handlers; 0: the I/O
 * threads do. GET /work does WORK: wait:MS, report:MS (blocks so long, on a pool of its own), query:MS (a query that takes so long,
 * on a connection of HikariCP's pool), sessions:COUNT (makes so many sessions anew).
 */
public final class Planted {
  interface Work {
    void run() throws Exception;
  }

  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  private static final int KEPT = 220_000;

  private final Map<?, ?>[] sessions = new Map<?, ?>[KEPT];
  private final AtomicInteger last = new AtomicInteger();
  private final boolean onLoops;
  private final Executor executor;
  private final Work work;

  private Planted(String besidePort, String asked, int threads) throws Exception {
    String what = asked.split(":")[0];
    int n = Integer.parseInt(asked.split(":")[1]);
    onLoops = threads == 0;
    executor =
        what.equals("report") ? new ThreadPoolExecutor(4, 64, 60, TimeUnit.SECONDS, new LinkedBlockingQueue<>()) : null;
    work =
        switch (what) {
          case "query" -> query(besidePort, n);
          case "sessions" -> () -> visit(n);
          default -> () -> Thread.sleep(n);
        };
    if (what.equals("sessions")) {
      visit(KEPT);
    }
  }

  public static void main(String[] arguments) throws Exception {
    int threads = Integer.parseInt(arguments[3]);
    Planted planted = new Planted(arguments[1], arguments[2], threads);
    Undertow.builder()
        .addHttpListener(Integer.parseInt(arguments[0]), "127.0.0.1")
        .setIoThreads(2)
        .setWorkerThreads(Math.max(1, threads))
        .setHandler(planted::handle)
        .build()
        .start();
  }

  private void handle(HttpServerExchange exchange) throws Exception {
    boolean isWork = exchange.getRequestPath().equals("/work");
    if (isWork && executor != null) {
      exchange.dispatch(executor, this::answer);
    } else if (onLoops && (isWork || exchange.getRequestPath().equals("/wait"))) {
      int ms = milliseconds(exchange);
      exchange.dispatch(
          SameThreadExecutor.INSTANCE,
          () ->
              exchange
                  .getIoThread()
                  .executeAfter(() -> exchange.getResponseSender().send("waited"), ms, TimeUnit.MILLISECONDS));
    } else if (onLoops) {
      answer(exchange);
    } else {
      exchange.dispatch(this::answer);
    }
  }

  private void answer(HttpServerExchange exchange) throws Exception {
    String body =
        switch (exchange.getRequestPath()) {
          case "/" -> "hello";
          case "/wait" -> {
            Thread.sleep(milliseconds(exchange));
            yield "waited";
          }
          case "/compute" -> compute(milliseconds(exchange));
          case "/work" -> {
            work.run();
            yield "done";
          }
          default -> null;
        };
    exchange.setStatusCode(body == null ? 404 : 200);
    exchange.getResponseSender().send(body == null ? "" : body);
  }

  private static int milliseconds(HttpServerExchange exchange) {
    var given = exchange.getQueryParameters().get("ms");
    return given == null ? 0 : Integer.parseInt(given.getFirst());
  }

  private static String compute(double ms) {
    long ends = THREADS.getCurrentThreadCpuTime() + (long) (ms * 1e6);
    int x = 1;
    while (THREADS.getCurrentThreadCpuTime() < ends) {
      for (int i = 0; i < 5000; i++) {
        x = x * 1103515245 + 12345;
      }
    }
    return Integer.toString(x);
  }

  private static Work query(String besidePort, int ms) throws Exception {
    var told = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + besidePort + "/")).build();
    String port = HttpClient.newHttpClient().send(told, HttpResponse.BodyHandlers.ofString()).body();
    var config = new HikariConfig();
    config.setJdbcUrl("jdbc:mariadb://127.0.0.1:" + port + "/shop?user=shop");
    config.setMaximumPoolSize(64);
    config.setMinimumIdle(2);
    config.setConnectionInitSql("SELECT SLEEP(1)"); // a session that takes long to prepare
    var pool = new HikariDataSource(config);
    return () -> {
      try (var connection = pool.getConnection(); var statement = connection.prepareStatement("SELECT SLEEP(?)")) {
        statement.setDouble(1, ms / 1000.0);
        statement.executeQuery().close();
      }
    };
  }

  private void visit(int count) {
    for (int i = 0; i < count; i++) {
      int visitor = last.getAndIncrement() & Integer.MAX_VALUE;
      Map<String, Object> session = new HashMap<>();
      session.put("visitor", Integer.toString(visitor));
      session.put("basket", new int[40]);
      session.put("language", "en");
      sessions[visitor % KEPT] = session;
    }
  }
}
