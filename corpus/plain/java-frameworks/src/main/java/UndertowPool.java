import io.undertow.Undertow;
import io.undertow.server.HttpServerExchange;
import io.undertow.server.handlers.BlockingHandler;

/** Undertow: two I/O threads hold the connections, a pool of worker threads runs the blocking handler. */
public final class UndertowPool {
  public static void main(String[] args) {
    Undertow.builder()
        .addHttpListener(Integer.parseInt(args[0]), "127.0.0.1")
        .setIoThreads(2)
        .setWorkerThreads(Integer.parseInt(args[1]))
        .setHandler(new BlockingHandler(UndertowPool::answer))
        .build()
        .start();
  }

  private static void answer(HttpServerExchange exchange) throws InterruptedException {
    String body = Work.blocking(exchange.getRequestPath(), exchange.getQueryString());
    exchange.setStatusCode(body == null ? 404 : 200);
    exchange.getResponseSender().send(body == null ? "" : body);
  }
}
