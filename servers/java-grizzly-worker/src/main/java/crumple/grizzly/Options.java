package crumple.grizzly;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/**
 * The command line as meant: {@code --port N --strategy worker|same --requests-per-connection N
 * --workers N}.
 *
 * @param port TCP port on 127.0.0.1
 * @param strategy which thread runs a request
 * @param requestsPerConnection requests until the server closes a connection; -1 is no limit
 * @param workers threads in the pool of the worker strategy; 0 is Grizzly's own count, two per
 *     processor
 */
record Options(int port, Strategy strategy, int requestsPerConnection, int workers) {

  enum Strategy {
    WORKER,
    SAME
  }

  static Options parse(String[] args) {
    Map<String, String> given = new HashMap<>();
    for (int i = 0; i + 1 < args.length; i += 2) {
      given.put(args[i], args[i + 1]);
    }
    return new Options(
        Integer.parseInt(given.getOrDefault("--port", "0")),
        Strategy.valueOf(given.getOrDefault("--strategy", "worker").toUpperCase(Locale.ROOT)),
        Integer.parseInt(given.getOrDefault("--requests-per-connection", "-1")),
        Integer.parseInt(given.getOrDefault("--workers", "0")));
  }
}
