import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.WRITE;

import com.linecorp.armeria.client.Endpoint;
import com.linecorp.armeria.client.WebClient;
import com.linecorp.armeria.client.limit.ConcurrencyLimit;
import com.linecorp.armeria.client.limit.ConcurrencyLimitingClient;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.SessionProtocol;
import com.linecorp.armeria.server.Server;
import com.linecorp.armeria.server.ServiceRequestContext;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * Armeria with two event loops, with causes to plant: Planted PORT BESIDE_PORT WORK SCRATCH. GET /work does WORK: wait:MS, legacy:MS
 * (blocks so long, on the pool for what blocks, of eight threads), ask:MS (asks the server at BESIDE_PORT, with a limit of six at a time),
 * book:MS (blocks so long in the event loop), spool:MS (waits, while a thread spools what nobody waits for). What is written goes to SCRATCH.
 */
public final class Planted {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  public static void main(String[] arguments) {
    String what = arguments[2].split(":")[0];
    int n = Integer.parseInt(arguments[2].split(":")[1]);
    if (what.equals("spool")) {
      spool(Path.of(arguments[3]));
    }
    ConcurrencyLimit limit = ConcurrencyLimit.builder(6).timeoutMillis(60_000).build();
    WebClient upstream =
        WebClient.builder(SessionProtocol.H1C, Endpoint.of("127.0.0.1", Integer.parseInt(arguments[1])))
            .decorator(ConcurrencyLimitingClient.newDecorator(limit))
            .responseTimeout(Duration.ofMinutes(2))
            .build();
    Server server =
        Server.builder()
            .http(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])))
            .workerGroup(2)
            .blockingTaskExecutor(8)
            .requestTimeout(Duration.ZERO)
            .idleTimeout(Duration.ofSeconds(75))
            .service("/", (context, request) -> HttpResponse.of("hello"))
            .service("/wait", (context, request) -> after(milliseconds(context), "waited"))
            .service("/compute", (context, request) -> HttpResponse.of(compute(milliseconds(context))))
            .service(
                "/work",
                (context, request) ->
                    switch (what) {
                      case "legacy" -> HttpResponse.of(legacy(context, n));
                      case "ask" -> upstream.get("/wait?ms=" + n);
                      case "book" -> {
                        Thread.sleep(n);
                        yield HttpResponse.of("done");
                      }
                      default -> after(n, "done");
                    })
            .build();
    server.start().join();
  }

  /** Statistics are written by a thread of their own, and are on the disk before it writes the next. */
  private static void spool(Path folder) {
    Thread spooling =
        new Thread(
            () -> {
              try (FileChannel file = FileChannel.open(folder.resolve("spool"), CREATE, WRITE)) {
                ByteBuffer statistics = ByteBuffer.allocateDirect(256 * 1024);
                while (true) {
                  file.write(statistics.clear(), 0);
                  file.force(true);
                }
              } catch (IOException failed) {
                throw new UncheckedIOException(failed);
              }
            });
    spooling.setDaemon(true);
    spooling.start();
  }

  private static HttpResponse after(int ms, String text) {
    return HttpResponse.delayed(HttpResponse.of(text), Duration.ofMillis(ms));
  }

  private static CompletableFuture<HttpResponse> legacy(ServiceRequestContext context, int ms) {
    return CompletableFuture.supplyAsync(
        () -> {
          try {
            Thread.sleep(ms);
          } catch (InterruptedException ended) {
            return HttpResponse.of(HttpStatus.SERVICE_UNAVAILABLE);
          }
          return HttpResponse.of("done");
        },
        context.blockingTaskExecutor());
  }

  private static int milliseconds(ServiceRequestContext context) {
    String given = context.queryParam("ms");
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
}
