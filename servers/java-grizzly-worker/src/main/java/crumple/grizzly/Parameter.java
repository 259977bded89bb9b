package crumple.grizzly;

import jakarta.ws.rs.BadRequestException;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;

/** Numbers in the query of a request. */
final class Parameter {

  private Parameter() {}

  /**
   * A whole number from 0 to {@code most}; {@code byDefault} where the query has none.
   *
   * @param text what the query has, or null
   * @throws BadRequestException where it is no such number; Jersey's own answer would be 404
   */
  static int whole(String name, String text, int byDefault, int most) {
    if (text == null || text.isEmpty()) {
      return byDefault;
    }
    if (text.matches("[0-9]{1,9}") && Integer.parseInt(text) <= most) {
      return Integer.parseInt(text);
    }
    throw new BadRequestException(
        Response.status(Response.Status.BAD_REQUEST)
            .type(MediaType.TEXT_PLAIN)
            .entity(name + " must be a whole number from 0 to " + most)
            .build());
  }
}
