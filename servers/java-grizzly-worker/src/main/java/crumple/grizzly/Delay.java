package crumple.grizzly;

import jakarta.ws.rs.BadRequestException;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;

/**
 * The query parameter delay_ms of the workload hello, in milliseconds from 0 to 60000.
 *
 * @param millis how long to wait before the answer
 */
public record Delay(long millis) {

  private static final long MAX_MILLIS = 60_000;

  /**
   * Jersey calls this for every {@code @QueryParam}.
   *
   * @throws BadRequestException where the text is no such number; Jersey's own answer would be 404
   */
  public static Delay valueOf(String text) {
    if (text.isEmpty()) {
      return new Delay(0);
    }
    if (text.matches("[0-9]{1,9}") && Long.parseLong(text) <= MAX_MILLIS) {
      return new Delay(Long.parseLong(text));
    }
    throw new BadRequestException(
        Response.status(Response.Status.BAD_REQUEST)
            .type(MediaType.TEXT_PLAIN)
            .entity("delay_ms must be a whole number from 0 to 60000")
            .build());
  }
}
