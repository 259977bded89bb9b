package planted;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.http.client.HttpComponentsClientHttpRequestFactory;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.RestClient;

/**
 * Spring Boot with causes to plant. GET /work does WORK: wait:MS, compute:MS, query:MS (asks the server at BESIDE_PORT to
 * wait, by Apache's client as it comes), rows:N (N rows, made in one thread and formatted in another).
 */
@SpringBootApplication
@RestController
public class Planted {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private final ExecutorService formatters = Executors.newCachedThreadPool();
  private final RestClient client =
      RestClient.builder().requestFactory(new HttpComponentsClientHttpRequestFactory()).build();
  private final String what;
  private final int n;
  private final String beside;

  Planted(@Value("${WORK}") String work, @Value("${BESIDE_PORT}") String besidePort) {
    what = work.split(":")[0];
    n = Integer.parseInt(work.split(":")[1]);
    beside = "http://127.0.0.1:" + besidePort + "/wait?ms=" + n;
  }

  public static void main(String[] arguments) {
    SpringApplication.run(Planted.class, arguments);
  }

  @GetMapping("/")
  String hello() {
    return "hello";
  }

  @GetMapping("/wait")
  String pause(@RequestParam(defaultValue = "0") int ms) throws InterruptedException {
    Thread.sleep(ms);
    return "waited";
  }

  @GetMapping("/compute")
  String compute(@RequestParam(defaultValue = "0") int ms) {
    long ends = THREADS.getCurrentThreadCpuTime() + ms * 1_000_000L;
    long x = 1;
    while (THREADS.getCurrentThreadCpuTime() < ends) {
      for (int i = 0; i < 10_000; i++) {
        x = (x * 1103515245 + 12345 + i) & 0x7fffffff;
      }
    }
    return Long.toString(x);
  }

  @GetMapping("/work")
  String work() throws Exception {
    return switch (what) {
      case "wait" -> pause(n);
      case "compute" -> compute(n);
      case "query" -> client.get().uri(beside).retrieve().body(String.class);
      case "rows" -> rows();
      default -> throw new IllegalArgumentException(what);
    };
  }

  private String rows() throws Exception {
    BlockingQueue<Integer> made = new ArrayBlockingQueue<>(1);
    Future<Integer> formatted =
        formatters.submit(
            () -> {
              int length = 0;
              for (int i = 0; i < n; i++) {
                length += ("row " + made.take()).length();
              }
              return length;
            });
    for (int i = 0; i < n; i++) {
      made.put(i);
    }
    return formatted.get().toString();
  }
}
