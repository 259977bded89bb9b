package crumple.tomcat;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.ThreadLocalRandom;

/** The string of the workload file: 108,000 characters with codes from 65 to 121. */
final class RandomText {

  private static final int LENGTH = 108_000;
  private static final int LOWEST = 65;
  private static final int CODES = 57;

  enum Fill {
    EACH,
    BULK
  }

  private RandomText() {}

  static String make(Fill fill) {
    return fill == Fill.EACH ? each() : bulk();
  }

  private static String each() {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < LENGTH; i++) {
      text.append((char) (LOWEST + ThreadLocalRandom.current().nextInt(CODES)));
    }
    return text.toString();
  }

  private static String bulk() {
    byte[] text = new byte[LENGTH];
    ThreadLocalRandom.current().nextBytes(text);
    for (int i = 0; i < LENGTH; i++) {
      // A multiplication and a shift map 0–255 into the range without dividing.
      text[i] = (byte) (LOWEST + (((text[i] & 0xFF) * CODES) >>> 8));
    }
    return new String(text, StandardCharsets.ISO_8859_1);
  }
}
