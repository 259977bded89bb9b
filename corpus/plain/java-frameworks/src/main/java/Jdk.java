import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;

/** The JDK's own server. Without an executor (0 threads) the thread that polls runs the handlers, too. */
public final class Jdk {
  public static void main(String[] args) throws IOException {
    System.setProperty("sun.net.httpserver.nodelay", "true");
    int threads = Integer.parseInt(args[1]);
    InetSocketAddress address = new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0]));
    HttpServer server = HttpServer.create(address, 1024);
    server.setExecutor(threads == 0 ? null : Executors.newFixedThreadPool(threads));
    server.createContext(
        "/",
        exchange -> {
          try (exchange) {
            String body =
                Work.blocking(exchange.getRequestURI().getPath(), exchange.getRequestURI().getQuery());
            byte[] bytes = (body == null ? "" : body).getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(body == null ? 404 : 200, bytes.length == 0 ? -1 : bytes.length);
            exchange.getResponseBody().write(bytes);
          } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
          }
        });
    server.start();
  }
}
