import io.vertx.core.AbstractVerticle;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Vert.x with causes to plant: Planted PORT BESIDE_PORT WORK LOOPS POOL. GET /work does WORK: wait:MS, compute:MS (on the loop),
 * ordered:MS (blocks so long, on the pool of worker threads, in the order of the calls), ask:MS (asks the server at BESIDE_PORT).
 * LOOPS: how often the verticle is deployed, each time on another event loop. POOL: how many connections the client may open.
 */
public final class Planted extends AbstractVerticle {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private final HttpClient client;
  private final int port;
  private final int besidePort;
  private final String what;
  private final int n;

  private Planted(HttpClient client, String[] arguments) {
    this.client = client;
    port = Integer.parseInt(arguments[0]);
    besidePort = Integer.parseInt(arguments[1]);
    what = arguments[2].split(":")[0];
    n = Integer.parseInt(arguments[2].split(":")[1]);
  }

  public static void main(String[] arguments) {
    Vertx vertx = Vertx.vertx();
    HttpClient client = vertx.createHttpClient(new HttpClientOptions().setMaxPoolSize(Integer.parseInt(arguments[4])));
    vertx
        .deployVerticle(
            () -> new Planted(client, arguments), new DeploymentOptions().setInstances(Integer.parseInt(arguments[3])))
        .onFailure(error -> System.exit(1));
  }

  @Override
  public void start(Promise<Void> started) {
    vertx.createHttpServer().requestHandler(this::answer).listen(port, "127.0.0.1").<Void>mapEmpty().onComplete(started);
  }

  private void answer(HttpServerRequest request) {
    String ms = request.getParam("ms", "0");
    Future<String> body =
        switch (request.path()) {
          case "/" -> Future.succeededFuture("hello");
          case "/wait" -> pause(Integer.parseInt(ms)).map("waited");
          case "/compute" -> Future.succeededFuture(compute(Double.parseDouble(ms)));
          case "/work" -> work().map("done");
          default -> Future.failedFuture("not found");
        };
    body.onSuccess(request.response()::end).onFailure(error -> request.response().setStatusCode(404).end());
  }

  private Future<?> work() {
    return switch (what) {
      case "compute" -> Future.succeededFuture(compute(n));
      case "ordered" -> context.executeBlocking(this::block);
      case "ask" -> client
          .request(HttpMethod.GET, besidePort, "127.0.0.1", "/wait?ms=" + n)
          .compose(request -> request.send())
          .compose(HttpClientResponse::body);
      default -> pause(n);
    };
  }

  private String block() throws InterruptedException {
    Thread.sleep(n);
    return "blocked";
  }

  private Future<?> pause(int ms) {
    Promise<Void> over = Promise.promise();
    vertx.setTimer(Math.max(1, ms), timer -> over.complete());
    return over.future();
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
