import jakarta.ws.rs.DefaultValue;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.QueryParam;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.URI;
import java.security.DrbgParameters;
import java.security.SecureRandom;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.glassfish.grizzly.http.server.HttpServer;
import org.glassfish.grizzly.threadpool.ThreadPoolConfig;
import org.glassfish.jersey.grizzly2.httpserver.GrizzlyHttpServerFactory;
import org.glassfish.jersey.server.ResourceConfig;

/**
 * Jersey on Grizzly, with causes to plant: Planted PORT WORK THREADS. THREADS: how many threads the pool has. GET
 * /work does WORK: wait:MS, coupons:KIB (so many random bytes, for coupons).
 */
@Path("/")
public final class Planted {
  interface Work {
    void run() throws Exception;
  }

  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  private static final Logger GLASSFISH = Logger.getLogger("org.glassfish");
  private static Work work;

  public static void main(String[] arguments) throws Exception {
    GLASSFISH.setLevel(Level.OFF);
    String what = arguments[1].split(":")[0];
    int n = Integer.parseInt(arguments[1].split(":")[1]);
    work =
        switch (what) {
          case "coupons" -> coupons(n);
          default -> () -> Thread.sleep(n);
        };
    var application = new ResourceConfig(Planted.class);
    var address = URI.create("http://127.0.0.1:" + arguments[0] + "/");
    HttpServer server = GrizzlyHttpServerFactory.createHttpServer(address, application, false);
    var listener = server.getListener("grizzly");
    listener.getTransport().setServerConnectionBackLog(1024);
    listener
        .getTransport()
        .setWorkerThreadPoolConfig(
            ThreadPoolConfig.defaultConfig()
                .setPoolName("jersey")
                .setCorePoolSize(Integer.parseInt(arguments[2]))
                .setMaxPoolSize(Integer.parseInt(arguments[2])));
    listener.getKeepAlive().setMaxRequestsCount(-1);
    listener.getKeepAlive().setIdleTimeoutInSeconds(75);
    server.start();
    Thread.currentThread().join();
  }

  @GET
  public String hello() {
    return "hello";
  }

  @GET
  @Path("wait")
  public String waited(@QueryParam("ms") @DefaultValue("0") int ms) throws InterruptedException {
    Thread.sleep(ms);
    return "waited";
  }

  @GET
  @Path("compute")
  public String compute(@QueryParam("ms") @DefaultValue("0") double ms) {
    long ends = THREADS.getCurrentThreadCpuTime() + (long) (ms * 1e6);
    int x = 1;
    while (THREADS.getCurrentThreadCpuTime() < ends) {
      for (int i = 0; i < 5000; i++) {
        x = x * 1103515245 + 12345;
      }
    }
    return Integer.toString(x);
  }

  @GET
  @Path("work")
  public String work() throws Exception {
    work.run();
    return "done";
  }

  /** One generator for the program: its algorithm is for one thread at a time. */
  private static Work coupons(int kib) throws Exception {
    var random = SecureRandom.getInstance("DRBG", DrbgParameters.instantiation(256, DrbgParameters.Capability.NONE, null));
    return () -> random.nextBytes(new byte[1024 * kib]);
  }
}
