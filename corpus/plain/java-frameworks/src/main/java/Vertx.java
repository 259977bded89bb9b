import io.vertx.core.AbstractVerticle;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.http.HttpServerRequest;

/** Vert.x: `loops` event loops; work is done on them, or on the pool of 20 worker threads. */
public final class Vertx {
  public static void main(String[] args) {
    int port = Integer.parseInt(args[0]);
    boolean onWorkers = args[2].equals("worker");
    io.vertx.core.Vertx vertx = io.vertx.core.Vertx.vertx();
    DeploymentOptions options = new DeploymentOptions().setInstances(Integer.parseInt(args[1]));
    vertx.deployVerticle(() -> new Verticle(port, onWorkers), options).onFailure(e -> System.exit(1));
  }

  private static final class Verticle extends AbstractVerticle {
    private final int port;
    private final boolean onWorkers;

    Verticle(int port, boolean onWorkers) {
      this.port = port;
      this.onWorkers = onWorkers;
    }

    @Override
    public void start() {
      vertx.createHttpServer().requestHandler(this::answer).listen(port, "127.0.0.1");
    }

    private void answer(HttpServerRequest request) {
      long ms = Work.ms(request.query());
      switch (request.path()) {
        case "/" -> request.response().end("hello");
        case "/wait" -> vertx.setTimer(Math.max(1, ms), id -> request.response().end("waited"));
        case "/compute" -> {
          if (onWorkers) {
            vertx.executeBlocking(() -> Work.compute(ms), false).onSuccess(request.response()::end);
          } else {
            request.response().end(Work.compute(ms));
          }
        }
        default -> request.response().setStatusCode(404).end();
      }
    }
  }
}
