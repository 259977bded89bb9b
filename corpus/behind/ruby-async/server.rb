# async-http, on which Falcon stands: ruby server.rb PORT BESIDE_PORT WORK. Each connection has a fiber; all of them share one thread.
# GET /work does WORK: wait:MS, ask:MS (asks the server at BESIDE_PORT, with a client that has four connections).
require "async"
require "async/clock"
require "async/http/client"
require "async/http/endpoint"
require "async/http/server"

PORT, BESIDE_PORT, WORK = ARGV
WHAT, TEXT = WORK.split(":")
N = TEXT.to_i
CPU = Process::CLOCK_THREAD_CPUTIME_ID

def compute(cpu_ms)
  ends = Process.clock_gettime(CPU) + cpu_ms / 1000.0
  x = 1
  500.times { x = (x * 1_103_515_245 + 12_345) & 0x7fffffff } while Process.clock_gettime(CPU) < ends
  x.to_s
end

BESIDE = Async::HTTP::Client.new(
  Async::HTTP::Endpoint.parse("http://127.0.0.1:#{BESIDE_PORT}"), connection_limit: 4,
)

def work
  if WHAT == "ask"
    BESIDE.get("/wait?ms=#{N}").read
  else
    Async::Task.current.sleep(N / 1000.0)
    "done"
  end
end

def answer(path, milliseconds)
  case path
  when "/" then "hello"
  when "/wait"
    Async::Task.current.sleep(milliseconds / 1000.0)
    "waited"
  when "/compute" then compute(milliseconds)
  when "/work" then work
  end
end

Async do
  endpoint = Async::HTTP::Endpoint.parse("http://127.0.0.1:#{PORT}")
  server = Async::HTTP::Server.for(endpoint) do |request|
    path, query = request.path.split("?")
    text = answer(path, query.to_s[/ms=(\d+)/, 1].to_i)
    Protocol::HTTP::Response[text ? 200 : 404, { "content-type" => "text/plain" }, [text || ""]]
  end
  server.run
end
