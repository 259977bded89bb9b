package crumple.tomcat;

/** The body of the workload mix: the letters a to z, over and over. */
final class Letters {

  private Letters() {}

  static byte[] of(int length) {
    byte[] letters = new byte[length];
    for (int i = 0; i < length; i++) {
      letters[i] = (byte) ('a' + i % 26);
    }
    return letters;
  }
}
