import com.typesafe.config.ConfigFactory
import java.lang.management.ManagementFactory
import org.apache.pekko.actor.ActorSystem
import org.apache.pekko.http.scaladsl.Http
import org.apache.pekko.http.scaladsl.model.HttpRequest
import org.apache.pekko.http.scaladsl.server.Directives._
import org.apache.pekko.pattern.after
import scala.concurrent.Future
import scala.concurrent.duration._

/** Pekko HTTP, with causes to plant: Planted PORT BESIDE_PORT WORK. GET /work does WORK: wait:MS, legacy:MS (calls what blocks, on the
  * dispatcher), ask:MS (asks the server at BESIDE_PORT with Pekko's client), chatty:MS (waits, while actors talk to each other).
  */
object Planted {
  private val threads = ManagementFactory.getThreadMXBean
  private val config = ConfigFactory
    .parseString("""
      pekko.loglevel = OFF
      pekko.stdout-loglevel = OFF
      pekko.http.server.max-connections = 8192
      pekko.http.server.backlog = 1024
      pekko.http.host-connection-pool.max-open-requests = 4096
    """)
    .withFallback(ConfigFactory.load())

  def main(arguments: Array[String]): Unit = {
    implicit val system: ActorSystem = ActorSystem("planted", config)
    import system.dispatcher
    val Array(what, given) = arguments(2).split(":")
    val n = given.toInt
    val url = s"http://127.0.0.1:${arguments(1)}/wait?ms=$n"

    def pause(ms: Int): Future[String] = after(ms.millis)(Future.successful("waited"))

    def ask(): Future[String] =
      Http().singleRequest(HttpRequest(uri = url)).flatMap(_.entity.toStrict(60.seconds)).map(_.data.utf8String)

    def work(): Future[String] = what match {
      case "legacy" => Future { Thread.sleep(n); "done" }
      case "ask"    => ask()
      case _        => pause(n)
    }

    if (what == "chatty") Chatter.start(system)
    val routes = get {
      concat(
        pathSingleSlash(complete("hello")),
        path("wait")(parameter("ms".as[Int].withDefault(0))(ms => complete(pause(ms)))),
        path("compute")(parameter("ms".as[Double].withDefault(0.0))(ms => complete(Future(compute(ms))))),
        path("work")(complete(work()))
      )
    }
    Http().newServerAt("127.0.0.1", arguments(0).toInt).bind(routes)
    ()
  }

  private def compute(ms: Double): String = {
    val ends = threads.getCurrentThreadCpuTime + (ms * 1e6).toLong
    var x = 1
    while (threads.getCurrentThreadCpuTime < ends) {
      var i = 0
      while (i < 5000) {
        x = x * 1103515245 + 12345
        i += 1
      }
    }
    x.toString
  }
}
