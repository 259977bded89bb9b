package crumple.grizzly;

import jakarta.ws.rs.BeanParam;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.container.AsyncResponse;
import jakarta.ws.rs.container.Suspended;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import org.glassfish.grizzly.http.server.Request;

/** The workload mix for the same-thread strategy: the selector computes, a timer waits. */
@Path("mix")
public class MixLater {

  @GET
  @Produces(MediaType.TEXT_PLAIN)
  public void mix(@BeanParam Mix mix, @Suspended AsyncResponse response, @Context Request request) {
    mix.check();
    if (mix.waitMillis() == 0) {
      response.resume(mix.work());
      return;
    }
    Later.inSelector(request, mix.waitMillis(), () -> response.resume(mix.work()));
  }
}
