package crumple.tomcat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import jakarta.servlet.http.HttpServletResponse;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletionException;

/** What a request is answered; how it is written is the business of the servlets. */
record Answer(int status, String contentType, byte[] body) {

  private static final ObjectMapper MAPPER = new ObjectMapper();

  static Answer text(byte[] body) {
    return new Answer(HttpServletResponse.SC_OK, "text/plain", body);
  }

  static Answer text(String body) {
    return text(body.getBytes(StandardCharsets.UTF_8));
  }

  static Answer json(Object value) {
    try {
      return new Answer(
          HttpServletResponse.SC_OK, "application/json", MAPPER.writeValueAsBytes(value));
    } catch (JsonProcessingException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  static Answer refusal(int status, String reason) {
    return new Answer(status, "text/plain", reason.getBytes(StandardCharsets.UTF_8));
  }

  /** 400 where the request is at fault, else 500. */
  static Answer failure(Throwable thrown) {
    Throwable cause =
        thrown instanceof CompletionException && thrown.getCause() != null
            ? thrown.getCause()
            : thrown;
    return cause instanceof BadRequestException
        ? refusal(HttpServletResponse.SC_BAD_REQUEST, cause.getMessage())
        : refusal(HttpServletResponse.SC_INTERNAL_SERVER_ERROR, cause.toString());
  }

  void writeHead(HttpServletResponse response) {
    response.setStatus(status);
    response.setContentType(contentType);
    response.setContentLength(body.length);
  }
}
