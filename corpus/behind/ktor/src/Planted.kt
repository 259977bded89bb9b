// Ktor on Netty, with causes to plant: PlantedKt PORT BESIDE_PORT WORK. GET /work does WORK: wait:MS, call:MS (calls what blocks so long,
// on a dispatcher with eight threads), ask:MS (asks the server at BESIDE_PORT), warm:MS (waits; beside it, a thread computes all of
// the time).
import io.ktor.server.engine.embeddedServer
import io.ktor.server.netty.Netty
import io.ktor.server.response.respondText
import io.ktor.server.routing.get
import io.ktor.server.routing.routing
import java.lang.management.ManagementFactory
import java.net.URI
import java.net.http.HttpClient
import java.net.http.HttpRequest
import java.net.http.HttpResponse
import kotlin.concurrent.thread
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.delay
import kotlinx.coroutines.future.await
import kotlinx.coroutines.withContext

val clock = ManagementFactory.getThreadMXBean()

fun compute(ms: Double): String {
    val ends = clock.currentThreadCpuTime + (ms * 1e6).toLong()
    var x = 1
    while (clock.currentThreadCpuTime < ends) {
        for (i in 0 until 5000) x = x * 1103515245 + 12345
    }
    return x.toString()
}

fun main(arguments: Array<String>) {
    val (port, besidePort, work) = arguments
    val (what, text) = work.split(":")
    val ms = text.toLong()
    val eight = Dispatchers.IO.limitedParallelism(8)
    val client = HttpClient.newHttpClient()
    val beside = HttpRequest.newBuilder(URI.create("http://127.0.0.1:$besidePort/wait?ms=$ms")).build()
    if (what == "warm") thread(isDaemon = true) { while (true) compute(50.0) }

    embeddedServer(Netty, host = "127.0.0.1", port = port.toInt()) {
        routing {
            get("/") { call.respondText("hello") }
            get("/wait") {
                delay(call.request.queryParameters["ms"]?.toLong() ?: 0)
                call.respondText("waited")
            }
            get("/compute") { call.respondText(compute(call.request.queryParameters["ms"]?.toDouble() ?: 0.0)) }
            get("/work") {
                when (what) {
                    "call" -> withContext(eight) { Thread.sleep(ms) }
                    "ask" -> client.sendAsync(beside, HttpResponse.BodyHandlers.ofString()).await()
                    else -> delay(ms)
                }
                call.respondText("done")
            }
        }
    }.start(wait = true)
}
