import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.nio.ByteBuffer;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

/** Jetty with a handler that blocks, on its pool of threads: java Main PORT THREADS. */
public final class Main extends Handler.Abstract {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  public static void main(String[] args) throws Exception {
    Server server = new Server(new QueuedThreadPool(Integer.parseInt(args[1])));
    ServerConnector connector = new ServerConnector(server);
    connector.setHost("127.0.0.1");
    connector.setPort(Integer.parseInt(args[0]));
    connector.setAcceptQueueSize(1024);
    server.addConnector(connector);
    server.setHandler(new Main());
    server.start();
  }

  @Override
  public boolean handle(Request request, Response response, Callback callback) throws Exception {
    String query = request.getHttpURI().getQuery();
    long ms = query != null && query.startsWith("ms=") ? Long.parseLong(query.substring(3)) : 0;
    String body;
    switch (Request.getPathInContext(request)) {
      case "/" -> body = "hello";
      case "/wait" -> {
        Thread.sleep(ms);
        body = "waited";
      }
      case "/compute" -> body = compute(ms);
      default -> {
        return false;
      }
    }
    response.getHeaders().put(HttpHeader.CONTENT_TYPE, "text/plain");
    response.write(true, ByteBuffer.wrap(body.getBytes(StandardCharsets.UTF_8)), callback);
    return true;
  }

  /** Arithmetic until this thread has used so much CPU time. */
  private static String compute(long cpuMs) {
    long ends = THREADS.getCurrentThreadCpuTime() + cpuMs * 1_000_000;
    long x = 1;
    while (THREADS.getCurrentThreadCpuTime() < ends) {
      for (int i = 0; i < 20_000; i++) {
        x = (x * 1103515245 + 12345 + i) & 0x7fffffff;
      }
    }
    return Long.toString(x);
  }
}
