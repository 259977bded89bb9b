package crumple.grizzly;

import jakarta.ws.rs.core.UriBuilder;
import java.io.IOException;
import java.net.URI;
import org.glassfish.grizzly.http.server.HttpServer;
import org.glassfish.grizzly.http.server.NetworkListener;
import org.glassfish.grizzly.nio.transport.TCPNIOTransport;
import org.glassfish.grizzly.strategies.SameThreadIOStrategy;
import org.glassfish.grizzly.strategies.WorkerThreadIOStrategy;
import org.glassfish.jersey.grizzly2.httpserver.GrizzlyHttpServerFactory;
import org.glassfish.jersey.jackson.JacksonFeature;
import org.glassfish.jersey.server.ResourceConfig;
import org.glassfish.jersey.server.ServerProperties;

/**
 * Starts the workloads hello, todos and mix on Jersey and Grizzly, with the I/O strategy the
 * command line names.
 *
 * <p>Both strategies are one program, so that nothing but the strategy, and the way to wait it
 * demands, can differ.
 */
public final class Main {

  private Main() {}

  public static void main(String[] args) throws IOException, InterruptedException {
    Options options = Options.parse(args);
    URI address = UriBuilder.fromUri("http://127.0.0.1/").port(options.port()).build();
    HttpServer server =
        GrizzlyHttpServerFactory.createHttpServer(address, resources(options.strategy()), false);
    configure(server.getListener("grizzly"), options);
    server.start();
    // The selectors are daemon threads: with the same-thread strategy nothing else keeps the
    // process alive.
    Thread.currentThread().join();
  }

  private static ResourceConfig resources(Options.Strategy strategy) {
    boolean same = strategy == Options.Strategy.SAME;
    return new ResourceConfig()
        .register(same ? HelloLater.class : HelloBlocking.class)
        .register(same ? MixLater.class : MixBlocking.class)
        .register(TodosResource.class)
        .register(JacksonFeature.class)
        // Otherwise Jersey answers /application.wadl too, a description nobody asked for.
        .property(ServerProperties.WADL_FEATURE_DISABLE, true);
  }

  private static void configure(NetworkListener listener, Options options) {
    TCPNIOTransport transport = listener.getTransport();
    switch (options.strategy()) {
      // This also drops the pool of workers: with one, Grizzly would still hand every request over
      // to it.
      case SAME -> transport.setIOStrategy(SameThreadIOStrategy.getInstance());
      case WORKER -> {
        transport.setIOStrategy(WorkerThreadIOStrategy.getInstance());
        if (options.workers() > 0) {
          transport
              .getWorkerThreadPoolConfig()
              .setCorePoolSize(options.workers())
              .setMaxPoolSize(options.workers());
        }
      }
    }
    listener.getKeepAlive().setMaxRequestsCount(options.requestsPerConnection());
  }
}
