package crumple.tomcat;

import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletResponse;
import java.net.UnknownHostException;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.catalina.LifecycleException;
import org.apache.catalina.startup.Tomcat;

/**
 * Starts all workloads on an embedded Tomcat, with the way to wait that the command line names.
 *
 * <p>The three ways are one program, so that nothing but the waiting can differ.
 */
public final class Main {

  private Main() {}

  public static void main(String[] args) throws UnknownHostException {
    // Tomcat and the pool tell of their start at INFO.
    Logger.getLogger("").setLevel(Level.WARNING);
    Options options = Options.parse(args);
    Tomcat tomcat = Container.with(servlets(options), options);
    try {
      tomcat.start();
    } catch (LifecycleException failure) {
      System.err.printf(
          "cannot serve on 127.0.0.1:%d (%s); is the port taken?%n",
          options.port(), failure.getCause());
      System.exit(1);
    }
    tomcat.getServer().await();
  }

  private static Map<String, HttpServlet> servlets(Options options) {
    Surroundings surroundings = Surroundings.of(System.getenv());
    Database database = new Database(System.getenv(), options.pool());
    CpuWork cpuWork =
        options.model() == Options.Model.VIRTUAL
            ? CpuWork.onVirtualThreads()
            : CpuWork.onPlatformThreads();
    Answer nowhere = Answer.refusal(HttpServletResponse.SC_NOT_FOUND, "no such path");
    Map<String, HttpServlet> servlets = new HashMap<>();
    if (options.model() == Options.Model.ASYNC) {
      new AsyncWorkloads(surroundings, database, cpuWork, options.pool())
          .byPath()
          .forEach((path, handler) -> servlets.put(path, new AsyncServlet(handler)));
      servlets.put(
          "/",
          new AsyncServlet((parameters, threads) -> CompletableFuture.completedFuture(nowhere)));
    } else {
      new BlockingWorkloads(surroundings, database, cpuWork)
          .byPath()
          .forEach((path, handler) -> servlets.put(path, new BlockingServlet(handler)));
      servlets.put("/", new BlockingServlet(parameters -> nowhere));
    }
    return servlets;
  }
}
