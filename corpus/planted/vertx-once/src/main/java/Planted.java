import io.netty.buffer.Unpooled;
import io.vertx.core.AbstractVerticle;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.file.OpenOptions;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Vert.x, with causes to plant: PORT BESIDE_PORT WORK INSTANCES FOLDER. GET /work does WORK: wait:MS, ask:MS (asks the server at
 * BESIDE_PORT), block:MS (calls what blocks, by executeBlocking), save:KIB (writes a file that is to be on the disk), print:MS (computes
 * on the loop).
 */
public final class Planted extends AbstractVerticle {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  private static final AtomicLong SAVED = new AtomicLong();

  private static Buffer attachment;

  private final int port;
  private final int besidePort;
  private final String what;
  private final long number;
  private final String folder;
  private HttpClient client;

  private Planted(String[] args) {
    String[] work = args[2].split(":");
    port = Integer.parseInt(args[0]);
    besidePort = Integer.parseInt(args[1]);
    what = work[0];
    number = Long.parseLong(work[1]);
    folder = args[4];
  }

  public static void main(String[] args) {
    if (args[2].startsWith("save:")) {
      attachment = Buffer.buffer(Unpooled.directBuffer().writeZero(1024 * Integer.parseInt(args[2].substring(5))));
    }
    DeploymentOptions options = new DeploymentOptions().setInstances(Integer.parseInt(args[3]));
    Vertx vertx = Vertx.vertx(new VertxOptions().setInternalBlockingPoolSize(64));
    vertx.deployVerticle(() -> new Planted(args), options).onFailure(e -> System.exit(1));
  }

  @Override
  public void start() {
    client = vertx.createHttpClient();
    vertx.createHttpServer().requestHandler(this::answer).listen(port, "127.0.0.1");
  }

  private static String compute(long ms) {
    int x = 1;
    for (long ends = THREADS.getCurrentThreadCpuTime() + ms * 1_000_000; THREADS.getCurrentThreadCpuTime() < ends; ) {
      for (int i = 0; i < 2000; i++) {
        x = x * 1_103_515_245 + 12_345;
      }
    }
    return Integer.toString(x);
  }

  private Future<Void> pause(long ms) {
    return Future.future(done -> vertx.setTimer(Math.max(1, ms), id -> done.complete()));
  }

  private Future<?> work() {
    return switch (what) {
      case "ask" -> client
          .request(HttpMethod.GET, besidePort, "127.0.0.1", "/wait?ms=" + number)
          .compose(asked -> asked.send().compose(answer -> answer.body()));
      case "block" -> vertx.executeBlocking(() -> {
        Thread.sleep(number);
        return null;
      });
      case "save" -> save();
      case "print" -> Future.succeededFuture(compute(number));
      default -> pause(number);
    };
  }

  private Future<Void> save() {
    String name = folder + "/saved-" + SAVED.incrementAndGet();
    OpenOptions options = new OpenOptions().setWrite(true).setDsync(true).setDeleteOnClose(true);
    return vertx.fileSystem()
        .open(name, options)
        .compose(file -> file.write(attachment).eventually(() -> file.close()));
  }

  private void answer(HttpServerRequest request) {
    String ms = request.getParam("ms", "0");
    switch (request.path()) {
      case "/" -> request.response().end("hello");
      case "/wait" -> pause(Long.parseLong(ms)).onSuccess(done -> request.response().end("waited"));
      case "/compute" -> request.response().end(compute(Long.parseLong(ms)));
      case "/work" -> work()
          .onSuccess(done -> request.response().end("done"))
          .onFailure(e -> request.response().setStatusCode(500).end(e.toString()));
      default -> request.response().setStatusCode(404).end();
    }
  }
}
