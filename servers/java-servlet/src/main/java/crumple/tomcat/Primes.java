package crumple.tomcat;

import java.util.stream.IntStream;

/** The work of the workload primes: a sieve of Eratosthenes. */
final class Primes {

  private Primes() {}

  static int[] below(int bound) {
    boolean[] composite = new boolean[bound];
    for (int prime = 2; (long) prime * prime < bound; prime++) {
      if (!composite[prime]) {
        for (int multiple = prime * prime; multiple < bound; multiple += prime) {
          composite[multiple] = true;
        }
      }
    }
    return IntStream.range(2, bound).filter(number -> !composite[number]).toArray();
  }
}
