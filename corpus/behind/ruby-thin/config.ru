# For Thin: with --threaded the handlers block their threads; without, they wait by EventMachine's timers.
# GET /work takes one of $POOL connections to $BESIDE_PORT, asks over it for 10 ms, and renders for 30 ms before it gives it back.
require "net/http"

CPU = Process::CLOCK_THREAD_CPUTIME_ID
THREADED = ENV.fetch("KIND") == "--threaded"
BESIDE = ENV.fetch("BESIDE_PORT").to_i
CONNECTIONS = Queue.new
ENV.fetch("POOL").to_i.times { CONNECTIONS << Net::HTTP.new("127.0.0.1", BESIDE) } if BESIDE > 0
HEADERS = { "Content-Type" => "text/plain" }.freeze

def compute(cpu_ms)
  ends = Process.clock_gettime(CPU) + cpu_ms / 1000.0
  x = 1
  500.times { x = (x * 1_103_515_245 + 12_345) & 0x7fffffff } while Process.clock_gettime(CPU) < ends
  x.to_s
end

def query_and_render
  connection = CONNECTIONS.pop
  connection.start unless connection.started?
  connection.get("/wait?ms=10").body
  sleep 0.03
  "done"
ensure
  CONNECTIONS << connection
end

run lambda { |env|
  ms = env["QUERY_STRING"].to_s[/(?:^|&)ms=(\d+)/, 1].to_f
  case env["PATH_INFO"]
  when "/" then [200, HEADERS, ["hello"]]
  when "/compute" then [200, HEADERS, [compute(ms)]]
  when "/work" then [200, HEADERS, [query_and_render]]
  when "/wait"
    if THREADED
      sleep ms / 1000
      [200, HEADERS, ["waited"]]
    else
      EventMachine.add_timer(ms / 1000) { env["async.callback"].call([200, HEADERS, ["waited"]]) }
      [-1, {}, []]
    end
  else [404, HEADERS, [""]]
  end
}
