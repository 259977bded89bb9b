package crumple.grizzly;

import jakarta.ws.rs.QueryParam;

/** The three dials of the workload mix, as the query has them. */
public final class Mix {

  @QueryParam("wait_ms")
  private String waitMillis;

  @QueryParam("spin_us")
  private String spinMicros;

  @QueryParam("bytes")
  private String bytes;

  /** How long the request waits before it computes. */
  int waitMillis() {
    return Parameter.whole("wait_ms", waitMillis, 0, 60_000);
  }

  /** Computes in the calling thread, and returns the body of the answer. */
  byte[] work() {
    int length = length();
    Work.spin(spinMicros());
    return Work.letters(length);
  }

  /** Throws BadRequestException where a dial is not in its range, before anything has waited. */
  void check() {
    waitMillis();
    spinMicros();
    length();
  }

  private int spinMicros() {
    return Parameter.whole("spin_us", spinMicros, 0, 10_000_000);
  }

  private int length() {
    return Parameter.whole("bytes", bytes, 13, 10_000_000);
  }
}
