package crumple.tomcat;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/**
 * The command line as meant: {@code --port N --scratch FOLDER --model blocking|async|virtual
 * --workers N --pool N --keep-alive SECONDS --requests-per-connection N}.
 *
 * @param port TCP port on 127.0.0.1
 * @param scratch folder for Tomcat's own files
 * @param model how a request waits
 * @param workers most threads of the container; virtual threads have no such limit
 * @param pool most connections to the database
 * @param keepAlive seconds after which an idle connection is closed; 0 keeps none
 * @param requestsPerConnection requests until the server closes a connection; -1 is no limit
 */
record Options(
    int port,
    String scratch,
    Model model,
    int workers,
    int pool,
    int keepAlive,
    int requestsPerConnection) {

  enum Model {
    BLOCKING,
    ASYNC,
    VIRTUAL
  }

  static Options parse(String[] args) {
    Map<String, String> given = new HashMap<>();
    for (int i = 0; i + 1 < args.length; i += 2) {
      given.put(args[i], args[i + 1]);
    }
    return new Options(
        Integer.parseInt(given.getOrDefault("--port", "0")),
        given.getOrDefault("--scratch", System.getProperty("java.io.tmpdir")),
        Model.valueOf(given.getOrDefault("--model", "blocking").toUpperCase(Locale.ROOT)),
        Integer.parseInt(given.getOrDefault("--workers", "200")),
        Integer.parseInt(given.getOrDefault("--pool", "10")),
        Integer.parseInt(given.getOrDefault("--keep-alive", "60")),
        Integer.parseInt(given.getOrDefault("--requests-per-connection", "-1")));
  }
}
