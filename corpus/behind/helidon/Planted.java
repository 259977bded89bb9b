// Helidon, a virtual thread for each connection, with causes to plant: Planted PORT BESIDE_PORT WORK SCRATCH. GET /work does WORK:
// wait:MS, query:MS (a query that takes so long, on a connection of HikariCP's pool as it comes), journal:KIB (appends so much to a
// journal that all share, and waits for the disk), sign:COUNT (signs so many times, by SHA-256), baskets:COUNT (makes so many new).
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.helidon.webserver.WebServer;
import io.helidon.webserver.http.ServerRequest;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;

public class Planted {
  interface Work {
    void run() throws Exception;
  }

  // A virtual thread has no clock of CPU time: of a piece that took long, because it was interrupted, only 100 microseconds count.
  static String compute(double ms) {
    int x = 1;
    for (long left = (long) (ms * 1e6); left > 0; ) {
      long began = System.nanoTime();
      for (int i = 0; i < 8000; i++) x = x * 1103515245 + 12345;
      left -= Math.min(System.nanoTime() - began, 100_000);
    }
    return Integer.toString(x);
  }

  static void pause(double ms) {
    try {
      Thread.sleep((long) ms);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  static double milliseconds(ServerRequest request) {
    return request.query().first("ms").map(Double::parseDouble).orElse(0.0);
  }

  static Work query(String besidePort, double ms) throws Exception {
    var told = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + besidePort + "/")).build();
    String port = HttpClient.newHttpClient().send(told, HttpResponse.BodyHandlers.ofString()).body();
    var config = new HikariConfig();
    config.setJdbcUrl("jdbc:mariadb://127.0.0.1:" + port + "/shop?user=shop");
    var pool = new HikariDataSource(config);
    return () -> {
      try (var connection = pool.getConnection(); var statement = connection.prepareStatement("SELECT SLEEP(?)")) {
        statement.setDouble(1, ms / 1000);
        statement.executeQuery().close();
      }
    };
  }

  static Work journal(Path scratch, int kib) throws Exception {
    var journal = FileChannel.open(scratch.resolve("journal"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    var lock = new ReentrantLock();
    var record = ByteBuffer.allocateDirect(kib << 10);
    return () -> {
      lock.lock();
      try {
        record.clear();
        journal.write(record, 0);
        journal.force(true);
      } finally {
        lock.unlock();
      }
    };
  }

  static Work sign(int count) {
    return () -> {
      var digest = MessageDigest.getInstance("SHA-256");
      byte[] signature = new byte[1024];
      for (int i = 0; i < count; i++) {
        digest.update(signature);
        System.arraycopy(digest.digest(), 0, signature, 0, 32);
      }
    };
  }

  // Baskets that are kept until there are too many; the oldest are dropped.
  static final int LIVE = 1_500_000;
  static final Object[] baskets = new Object[LIVE];
  static final AtomicInteger last = new AtomicInteger();

  static void fill(int count) {
    for (int i = 0; i < count; i++) {
      int next = last.getAndIncrement() & Integer.MAX_VALUE;
      baskets[next % LIVE] = new Object[] {new int[6], Integer.valueOf(next), null};
    }
  }

  static Work baskets(int count) {
    fill(LIVE);
    return () -> fill(count);
  }

  public static void main(String[] arguments) throws Exception {
    String[] parts = arguments[2].split(":");
    double number = Double.parseDouble(parts[1]);
    Work work =
        switch (parts[0]) {
          case "query" -> query(arguments[1], number);
          case "journal" -> journal(Path.of(arguments[3]), (int) number);
          case "sign" -> sign((int) number);
          case "baskets" -> baskets((int) number);
          default -> () -> pause(number);
        };
    WebServer.builder()
        .host("127.0.0.1")
        .port(Integer.parseInt(arguments[0]))
        .shutdownHook(false)
        .routing(
            routing ->
                routing
                    .get("/", (request, response) -> response.send("hello"))
                    .get("/wait", (request, response) -> {
                      pause(milliseconds(request));
                      response.send("waited");
                    })
                    .get("/compute", (request, response) -> response.send(compute(milliseconds(request))))
                    .get("/work", (request, response) -> {
                      work.run();
                      response.send("done");
                    }))
        .build()
        .start();
  }
}
