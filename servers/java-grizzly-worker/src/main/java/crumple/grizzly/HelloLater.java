package crumple.grizzly;

import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.QueryParam;
import jakarta.ws.rs.container.AsyncResponse;
import jakarta.ws.rs.container.Suspended;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import org.glassfish.grizzly.http.server.Request;

/** The workload hello for the same-thread strategy: a timer answers later. */
@Path("hello")
public class HelloLater {

  @GET
  @Produces(MediaType.TEXT_PLAIN)
  public void hello(
      @QueryParam("delay_ms") String text,
      @Suspended AsyncResponse response,
      @Context Request request) {
    int delayMillis = Parameter.whole("delay_ms", text, 0, 60_000);
    if (delayMillis == 0) {
      response.resume("Hello, World!");
      return;
    }
    Later.inTimer(request, delayMillis, () -> response.resume("Hello, World!"));
  }
}
