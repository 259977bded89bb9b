package crumple.tomcat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.sql.SQLException;
import java.util.Map;

/** The workloads as blocking code: a sleep, a file or a query holds the thread of its request. */
record BlockingWorkloads(Surroundings surroundings, Database database, CpuWork cpuWork) {

  Map<String, BlockingServlet.Handler> byPath() {
    return Map.of(
        "/hello", this::hello,
        "/todos", this::todos,
        "/hash", this::hash,
        "/file", this::file,
        "/options", this::options,
        "/rows", this::rows,
        "/primes", this::primes,
        "/mix", this::mix);
  }

  private Answer hello(Parameters parameters) throws InterruptedException {
    sleep(parameters.whole("delay_ms", 0, 0, 60_000));
    return Answer.text("Hello, World!");
  }

  private Answer todos(Parameters parameters) {
    return Answer.json(Todo.ALL);
  }

  private Answer hash(Parameters parameters) throws IOException {
    int rounds = parameters.whole("n", 1, 1, 100_000);
    return Answer.text(Hash.of(Files.readAllBytes(surroundings.hashFile()), rounds));
  }

  private Answer file(Parameters parameters) throws IOException {
    String text = RandomText.make(parameters.fill());
    Path file = surroundings.newFile();
    try {
      Files.writeString(file, text, StandardOpenOption.CREATE_NEW);
      return Answer.text(Files.readAllBytes(file));
    } finally {
      Files.deleteIfExists(file);
    }
  }

  private Answer options(Parameters parameters) throws SQLException {
    return Answer.json(database.options());
  }

  private Answer rows(Parameters parameters) throws SQLException {
    return Answer.json(database.books());
  }

  private Answer primes(Parameters parameters) {
    return Answer.json(Primes.below(parameters.whole("below", 1_000_000, 0, 10_000_000)));
  }

  private Answer mix(Parameters parameters) throws InterruptedException {
    int waitMillis = parameters.whole("wait_ms", 0, 0, 60_000);
    int spinMicros = parameters.whole("spin_us", 0, 0, 10_000_000);
    int bytes = parameters.whole("bytes", 13, 0, 10_000_000);
    sleep(waitMillis);
    cpuWork.spin(spinMicros);
    return Answer.text(Letters.of(bytes));
  }

  private static void sleep(int millis) throws InterruptedException {
    if (millis > 0) {
      Thread.sleep(millis);
    }
  }
}
