package crumple.tomcat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * The workloads as callbacks: no thread of the container waits for a timer, a file or the database.
 */
final class AsyncWorkloads {

  private static final ScheduledExecutorService TIMER =
      Executors.newSingleThreadScheduledExecutor();

  private final Surroundings surroundings;
  private final Database database;
  private final CpuWork cpuWork;
  private final ExecutorService databaseThreads;

  /** JDBC can only block: it does so in threads of its own, one for each connection. */
  AsyncWorkloads(
      Surroundings surroundings, Database database, CpuWork cpuWork, int databaseConnections) {
    this.surroundings = surroundings;
    this.database = database;
    this.cpuWork = cpuWork;
    this.databaseThreads = Executors.newFixedThreadPool(databaseConnections);
  }

  Map<String, AsyncServlet.Handler> byPath() {
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

  private CompletableFuture<Answer> hello(Parameters parameters, Executor containerThreads) {
    int delayMillis = parameters.whole("delay_ms", 0, 0, 60_000);
    return after(delayMillis).thenApply(nothing -> Answer.text("Hello, World!"));
  }

  private CompletableFuture<Answer> todos(Parameters parameters, Executor containerThreads) {
    return CompletableFuture.completedFuture(Answer.json(Todo.ALL));
  }

  private CompletableFuture<Answer> hash(Parameters parameters, Executor containerThreads) {
    int rounds = parameters.whole("n", 1, 1, 100_000);
    return AsyncFile.read(surroundings.hashFile())
        .thenApplyAsync(content -> Answer.text(Hash.of(content, rounds)), containerThreads);
  }

  private CompletableFuture<Answer> file(Parameters parameters, Executor containerThreads) {
    String text = RandomText.make(parameters.fill());
    Path file = surroundings.newFile();
    return AsyncFile.write(file, text.getBytes(StandardCharsets.UTF_8))
        .thenCompose(written -> AsyncFile.read(file))
        .whenComplete((read, failure) -> remove(file))
        .thenApply(Answer::text);
  }

  private CompletableFuture<Answer> options(Parameters parameters, Executor containerThreads) {
    return queried(database::options).thenApplyAsync(Answer::json, containerThreads);
  }

  private CompletableFuture<Answer> rows(Parameters parameters, Executor containerThreads) {
    return queried(database::books).thenApplyAsync(Answer::json, containerThreads);
  }

  private CompletableFuture<Answer> primes(Parameters parameters, Executor containerThreads) {
    int bound = parameters.whole("below", 1_000_000, 0, 10_000_000);
    return CompletableFuture.completedFuture(Answer.json(Primes.below(bound)));
  }

  private CompletableFuture<Answer> mix(Parameters parameters, Executor containerThreads) {
    int waitMillis = parameters.whole("wait_ms", 0, 0, 60_000);
    int spinMicros = parameters.whole("spin_us", 0, 0, 10_000_000);
    int bytes = parameters.whole("bytes", 13, 0, 10_000_000);
    if (waitMillis == 0) {
      return CompletableFuture.completedFuture(worked(spinMicros, bytes));
    }
    return after(waitMillis).thenApplyAsync(nothing -> worked(spinMicros, bytes), containerThreads);
  }

  private Answer worked(int spinMicros, int bytes) {
    cpuWork.spin(spinMicros);
    return Answer.text(Letters.of(bytes));
  }

  private static CompletableFuture<Void> after(int millis) {
    CompletableFuture<Void> passed = new CompletableFuture<>();
    if (millis == 0) {
      passed.complete(null);
    } else {
      TIMER.schedule(() -> passed.complete(null), millis, TimeUnit.MILLISECONDS);
    }
    return passed;
  }

  private <T> CompletableFuture<T> queried(Callable<T> query) {
    return CompletableFuture.supplyAsync(
        () -> {
          try {
            return query.call();
          } catch (Exception failure) {
            throw new CompletionException(failure);
          }
        },
        databaseThreads);
  }

  private static void remove(Path file) {
    try {
      Files.deleteIfExists(file);
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }
}
