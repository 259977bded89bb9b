package crumple.tomcat;

/** A parameter that is not what its workload allows; the message is the answer's body. */
final class BadRequestException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  BadRequestException(String message) {
    super(message);
  }
}
