package crumple.grizzly;

import jakarta.ws.rs.DefaultValue;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.QueryParam;
import jakarta.ws.rs.core.MediaType;

/**
 * The workload hello for the worker strategy: the request owns a thread, so it waits by sleeping in
 * it.
 */
@Path("hello")
public class HelloBlocking {

  @GET
  @Produces(MediaType.TEXT_PLAIN)
  public String hello(@QueryParam("delay_ms") @DefaultValue("0") Delay delay)
      throws InterruptedException {
    if (delay.millis() > 0) {
      Thread.sleep(delay.millis());
    }
    return "Hello, World!";
  }
}
