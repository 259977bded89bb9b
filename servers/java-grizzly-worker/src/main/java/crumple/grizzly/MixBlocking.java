package crumple.grizzly;

import jakarta.ws.rs.BeanParam;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.MediaType;

/** The workload mix for the worker strategy: the worker sleeps, computes and answers. */
@Path("mix")
public class MixBlocking {

  @GET
  @Produces(MediaType.TEXT_PLAIN)
  public byte[] mix(@BeanParam Mix mix) throws InterruptedException {
    mix.check();
    if (mix.waitMillis() > 0) {
      Thread.sleep(mix.waitMillis());
    }
    return mix.work();
  }
}
