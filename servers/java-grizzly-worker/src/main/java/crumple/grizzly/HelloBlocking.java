package crumple.grizzly;

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
  public String hello(@QueryParam("delay_ms") String text) throws InterruptedException {
    int delayMillis = Parameter.whole("delay_ms", text, 0, 60_000);
    if (delayMillis > 0) {
      Thread.sleep(delayMillis);
    }
    return "Hello, World!";
  }
}
