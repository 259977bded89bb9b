package crumple.tomcat;

import jakarta.servlet.AsyncContext;
import jakarta.servlet.ReadListener;
import jakarta.servlet.ServletInputStream;
import java.io.IOException;

/**
 * Reads the body of a request without blocking, and goes on when it has ended.
 *
 * <p>No workload has a body: this is for a client that sends one all the same, and slowly.
 */
final class BodyReader implements ReadListener {

  private final AsyncContext context;
  private final ServletInputStream input;
  private final Runnable afterwards;
  private final byte[] buffer = new byte[8_192];

  BodyReader(AsyncContext context, Runnable afterwards) throws IOException {
    this.context = context;
    this.input = context.getRequest().getInputStream();
    this.afterwards = afterwards;
  }

  @Override
  public void onDataAvailable() throws IOException {
    while (input.isReady() && input.read(buffer) >= 0) {
      // What it holds is of no interest.
    }
  }

  @Override
  public void onAllDataRead() {
    afterwards.run();
  }

  @Override
  public void onError(Throwable failure) {
    context.complete();
  }
}
