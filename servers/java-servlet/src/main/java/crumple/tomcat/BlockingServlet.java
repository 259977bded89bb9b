package crumple.tomcat;

import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;

/** Answers on the thread that has the request, which waits for whatever the handler waits for. */
final class BlockingServlet extends HttpServlet {

  private static final long serialVersionUID = 1L;

  private final transient Handler handler;

  interface Handler {
    Answer answer(Parameters parameters) throws Exception;
  }

  BlockingServlet(Handler handler) {
    this.handler = handler;
  }

  @Override
  protected void doGet(HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    Answer answer = answer(new Parameters(request));
    answer.writeHead(response);
    response.getOutputStream().write(answer.body());
  }

  private Answer answer(Parameters parameters) {
    try {
      return handler.answer(parameters);
    } catch (Exception failure) {
      return Answer.failure(failure);
    }
  }
}
