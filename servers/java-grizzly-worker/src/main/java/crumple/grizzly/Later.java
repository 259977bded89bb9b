package crumple.grizzly;

import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.glassfish.grizzly.Connection;
import org.glassfish.grizzly.IOEvent;
import org.glassfish.grizzly.http.server.Request;

/**
 * Answers after a while, for the same-thread strategy.
 *
 * <p>Sleeping would stop a selector, and with it every connection that selector serves.
 */
final class Later {

  private static final ScheduledExecutorService TIMER =
      Executors.newSingleThreadScheduledExecutor();

  private Later() {}

  /** Runs a short answer in the timer's thread. */
  static void inTimer(Request request, int millis, Runnable answer) {
    // Grizzly 4 keeps reading while a response is suspended, and loses the request that arrives
    // before the timer's thread is done with the one before. Its tracker has it as "Keep-alive
    // connection processing breaks with SameThreadIOStrategy after suspend/resume"; the cure there
    // is this call, in Grizzly 5, which needs Java 21.
    request.getContext().suspend();
    TIMER.schedule(answer, millis, TimeUnit.MILLISECONDS);
  }

  /** Runs an answer that computes in the selector's thread of the connection. */
  static void inSelector(Request request, int millis, Runnable answer) {
    Connection<?> connection = request.getContext().getConnection();
    inTimer(request, millis, () -> connection.executeInEventThread(IOEvent.READ, answer));
  }
}
