package crumple.tomcat;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** The work of the workload hash; where the content comes from is the servlets' business. */
final class Hash {

  private Hash() {}

  /** The digest in hex after {@code rounds}: each is over the content and the digest before. */
  static String of(byte[] content, int rounds) {
    MessageDigest sha256 = sha256();
    byte[] digest = sha256.digest(content);
    for (int round = 1; round < rounds; round++) {
      sha256.update(content);
      digest = sha256.digest(digest);
    }
    return HexFormat.of().formatHex(digest);
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException("every Java platform has SHA-256", impossible);
    }
  }
}
