package crumple.tomcat;

import jakarta.servlet.AsyncContext;
import jakarta.servlet.ServletOutputStream;
import jakarta.servlet.WriteListener;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.UncheckedIOException;

/** Writes one answer without blocking, whenever the connection takes some more of it. */
final class AnswerWriter implements WriteListener {

  // In parts, for Tomcat copies what a connection does not take at once.
  private static final int PART = 65_536;

  private final AsyncContext context;
  private final ServletOutputStream output;
  private final byte[] body;
  private int written;

  private AnswerWriter(AsyncContext context, ServletOutputStream output, byte[] body) {
    this.context = context;
    this.output = output;
    this.body = body;
  }

  /** May be called on any thread; Tomcat calls the listener on one of its own. */
  static void begin(AsyncContext context, Answer answer) {
    HttpServletResponse response = (HttpServletResponse) context.getResponse();
    answer.writeHead(response);
    try {
      ServletOutputStream output = response.getOutputStream();
      output.setWriteListener(new AnswerWriter(context, output, answer.body()));
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  @Override
  public void onWritePossible() throws IOException {
    while (output.isReady()) {
      if (written == body.length) {
        context.complete();
        return;
      }
      int part = Math.min(PART, body.length - written);
      output.write(body, written, part);
      written += part;
    }
  }

  @Override
  public void onError(Throwable failure) {
    context.complete();
  }
}
