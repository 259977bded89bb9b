import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.jooby.Context;
import io.jooby.ExecutionMode;
import io.jooby.Jooby;
import io.jooby.ServerOptions;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * Jooby on Netty, with causes to plant: Planted PORT BESIDE_PORT WORK THREADS. THREADS: how many threads run handlers. GET /work does
 * WORK: wait:MS, order:MS (asks a database for so long, over a pool whose connections take a second to open), search:COUNT (compiles
 * as many patterns, and looks for them in a text).
 */
public final class Planted {
  interface Work {
    void run() throws Exception;
  }

  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  public static void main(String[] arguments) throws Exception {
    String what = arguments[2].split(":")[0];
    int n = Integer.parseInt(arguments[2].split(":")[1]);
    Work work =
        switch (what) {
          case "order" -> order(arguments[1], n);
          case "search" -> () -> search(n);
          default -> () -> Thread.sleep(n);
        };
    var options = new ServerOptions();
    options.setHost("127.0.0.1");
    options.setPort(Integer.parseInt(arguments[0]));
    options.setIoThreads(2);
    options.setWorkerThreads(Integer.parseInt(arguments[3]));
    Jooby.runApp(
        new String[0],
        ExecutionMode.WORKER,
        app -> {
          app.setServerOptions(options);
          app.get("/", context -> "hello");
          app.get(
              "/wait",
              context -> {
                Thread.sleep(milliseconds(context));
                return "waited";
              });
          app.get("/compute", context -> compute(milliseconds(context)));
          app.get(
              "/work",
              context -> {
                work.run();
                return "done";
              });
        });
  }

  private static int milliseconds(Context context) {
    return context.query("ms").intValue(0);
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

  /** A pool that keeps one connection, and opens more when they are wanted. What is asked first on each takes a second. */
  private static Work order(String besidePort, int ms) throws Exception {
    var told = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + besidePort + "/")).build();
    String port = HttpClient.newHttpClient().send(told, HttpResponse.BodyHandlers.ofString()).body();
    var config = new HikariConfig();
    config.setJdbcUrl("jdbc:mariadb://127.0.0.1:" + port + "/shop?user=shop");
    config.setMinimumIdle(1);
    config.setMaximumPoolSize(64);
    config.setConnectionInitSql("DO SLEEP(1)"); // a view of the customer's rights is made
    var pool = new HikariDataSource(config);
    return () -> {
      try (var connection = pool.getConnection();
          var query = connection.createStatement()) {
        query.execute("DO SLEEP(" + ms / 1000.0 + ")");
      }
    };
  }

  /** Looks for words with patterns that are compiled each time. */
  private static int search(int count) {
    var text = "The quick brown fox jumps over the lazy dog, and the dog sleeps on. ".repeat(4);
    List<String> found = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      var matcher = Pattern.compile("(?i)\\b(?:dog|fox|word" + i + ")s?\\b").matcher(text);
      while (matcher.find()) {
        found.add(matcher.group());
      }
    }
    return String.join(" ", found).getBytes(StandardCharsets.UTF_8).length;
  }
}
