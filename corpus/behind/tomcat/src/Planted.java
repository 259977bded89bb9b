import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.text.ParseException;
import java.text.SimpleDateFormat;
import java.util.Date;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.catalina.Context;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.startup.Tomcat;

/**
 * Tomcat, embedded, with causes to plant: Planted PORT BESIDE_PORT WORK THREADS CONNECTIONS SCRATCH. GET /work does WORK: wait:MS,
 * view:MS (a query, and then a wait for somebody else, with a connection of HikariCP's pool), dates:COUNT (reads and writes so many
 * with the program's one format), lines:COUNT (reads so many lines that another thread writes into a pipe).
 */
public final class Planted extends HttpServlet {
  interface Work {
    void run() throws Exception;
  }

  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  private static final SimpleDateFormat FORMAT = new SimpleDateFormat("yyyy-MM-dd'T'HH:mm:ss.SSSZ");
  private static final Logger TOMCAT = Logger.getLogger("org.apache");

  private final ExecutorService writers = Executors.newCachedThreadPool();
  private final transient Work work;

  private Planted(Work work) {
    this.work = work;
  }

  public static void main(String[] arguments) throws Exception {
    TOMCAT.setLevel(Level.OFF);
    String what = arguments[2].split(":")[0];
    int n = Integer.parseInt(arguments[2].split(":")[1]);
    Work[] work = new Work[1];
    var servlet = new Planted(() -> work[0].run());
    work[0] =
        switch (what) {
          case "view" -> view(arguments[1], n);
          case "dates" -> () -> dates(n);
          case "lines" -> () -> servlet.lines(n);
          default -> () -> Thread.sleep(n);
        };

    var connector = new Connector("org.apache.coyote.http11.Http11NioProtocol");
    connector.setPort(Integer.parseInt(arguments[0]));
    connector.setProperty("address", "127.0.0.1");
    connector.setProperty("maxThreads", arguments[3]);
    connector.setProperty("maxConnections", arguments[4]);
    connector.setProperty("maxKeepAliveRequests", "-1");
    connector.setProperty("keepAliveTimeout", "75000");
    var tomcat = new Tomcat();
    tomcat.setBaseDir(arguments[5]);
    tomcat.setConnector(connector);
    Context context = tomcat.addContext("", new File(arguments[5]).getAbsolutePath());
    Tomcat.addServlet(context, "planted", servlet);
    context.addServletMappingDecoded("/", "planted");
    tomcat.start();
    tomcat.getServer().await();
  }

  @Override
  protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
    String body;
    try {
      body =
          switch (request.getServletPath()) {
            case "/" -> "hello";
            case "/wait" -> {
              Thread.sleep(milliseconds(request));
              yield "waited";
            }
            case "/compute" -> compute(milliseconds(request));
            case "/work" -> {
              work.run();
              yield "done";
            }
            default -> "";
          };
    } catch (Exception failed) {
      response.sendError(500);
      return;
    }
    byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
    response.setStatus(bytes.length == 0 ? 404 : 200);
    response.setContentType("text/plain");
    response.setContentLength(bytes.length);
    response.getOutputStream().write(bytes);
  }

  private static int milliseconds(HttpServletRequest request) {
    String given = request.getParameter("ms");
    return given == null ? 0 : Integer.parseInt(given);
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

  /** As a session of an ORM that stays open until the view is rendered: it keeps its connection. */
  private static Work view(String besidePort, int ms) throws Exception {
    var told = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + besidePort + "/")).build();
    String port = HttpClient.newHttpClient().send(told, HttpResponse.BodyHandlers.ofString()).body();
    var config = new HikariConfig();
    config.setJdbcUrl("jdbc:mariadb://127.0.0.1:" + port + "/shop?user=shop");
    var pool = new HikariDataSource(config);
    return () -> {
      try (var connection = pool.getConnection();
          var query = connection.prepareStatement("SELECT n FROM counters WHERE id = 1")) {
        query.executeQuery().close();
        Thread.sleep(ms); // a partner's service is asked, and the page is rendered
      }
    };
  }

  /** SimpleDateFormat is for one thread at a time. */
  private static long dates(int count) throws ParseException {
    long sum = 0;
    synchronized (FORMAT) {
      for (int i = 0; i < count; i++) {
        sum += FORMAT.parse(FORMAT.format(new Date(i * 86_400_123L))).getTime();
      }
    }
    return sum;
  }

  /** What one thread exports line by line another one reads, by a pipe with little room. */
  private void lines(int count) throws Exception {
    try (var reading = new PipedInputStream(64)) {
      var writing = new PipedOutputStream(reading);
      var written =
          writers.submit(
              () -> {
                try (writing) {
                  for (int i = 0; i < count; i++) {
                    writing.write(("article " + i + ", which is sold by the dozen, and is blue all over\n").getBytes());
                    writing.flush();
                  }
                }
                return null;
              });
      var reader = new BufferedReader(new InputStreamReader(reading), 64);
      while (reader.readLine() != null) {
        // each line is looked at
      }
      written.get();
    }
  }
}
