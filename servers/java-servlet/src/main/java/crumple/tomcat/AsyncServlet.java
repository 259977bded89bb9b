package crumple.tomcat;

import jakarta.servlet.AsyncContext;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/** Gives the thread of a request back at once; the answer is written when it has come about. */
final class AsyncServlet extends HttpServlet {

  private static final long serialVersionUID = 1L;

  private final transient Handler handler;

  /** {@code containerThreads} run what a handler computes after it has waited. */
  interface Handler {
    CompletableFuture<Answer> answer(Parameters parameters, Executor containerThreads);
  }

  AsyncServlet(Handler handler) {
    this.handler = handler;
  }

  @Override
  protected void doGet(HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    AsyncContext context = request.startAsync();
    // Otherwise Tomcat gives up after 30 s, and a workload may wait for 60.
    context.setTimeout(0);
    if (request.getContentLengthLong() > 0 || request.getHeader("Transfer-Encoding") != null) {
      request.getInputStream().setReadListener(new BodyReader(context, () -> answer(context)));
    } else {
      answer(context);
    }
  }

  private void answer(AsyncContext context) {
    Parameters parameters = new Parameters((HttpServletRequest) context.getRequest());
    CompletableFuture<Answer> answer;
    try {
      answer = handler.answer(parameters, context::start);
    } catch (RuntimeException failure) {
      answer = CompletableFuture.failedFuture(failure);
    }
    answer.exceptionally(Answer::failure).thenAccept(ready -> AnswerWriter.begin(context, ready));
  }
}
