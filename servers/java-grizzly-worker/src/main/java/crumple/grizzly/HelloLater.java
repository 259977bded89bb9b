package crumple.grizzly;

import jakarta.ws.rs.DefaultValue;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.QueryParam;
import jakarta.ws.rs.container.AsyncResponse;
import jakarta.ws.rs.container.Suspended;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.glassfish.grizzly.http.server.Request;

/**
 * The workload hello for the same-thread strategy: a timer answers later.
 *
 * <p>Sleeping here would stop a selector, and with it every connection that selector serves.
 */
@Path("hello")
public class HelloLater {

  private static final ScheduledExecutorService TIMER =
      Executors.newSingleThreadScheduledExecutor();

  @GET
  @Produces(MediaType.TEXT_PLAIN)
  public void hello(
      @QueryParam("delay_ms") @DefaultValue("0") Delay delay,
      @Suspended AsyncResponse response,
      @Context Request request) {
    if (delay.millis() == 0) {
      response.resume("Hello, World!");
      return;
    }
    // Grizzly 4 keeps reading while a response is suspended, and loses the request that arrives
    // before the timer's
    // thread is done with the one before. Its tracker has it as "Keep-alive connection processing
    // breaks with
    // SameThreadIOStrategy after suspend/resume"; the cure there is this call, in Grizzly 5, which
    // needs Java 21.
    request.getContext().suspend();
    TIMER.schedule(() -> response.resume("Hello, World!"), delay.millis(), TimeUnit.MILLISECONDS);
  }
}
