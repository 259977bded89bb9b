# A Rack application on Puma in clustered mode, with causes to plant: WORK in the environment. GET /work does WORK: wait:MS, query:MS (a query
# that takes so long, over a connection of connection_pool), book:MS (has a lock in Redis for so long), tidy:KIB (makes that much garbage,
# and then collects it, beside a catalogue of 400,000 objects).
require "connection_pool"
require "net/http"

WHAT, TEXT = ENV.fetch("WORK").split(":")
NUMBER = TEXT.to_f
CPU = Process::CLOCK_THREAD_CPUTIME_ID

def beside_port
  Net::HTTP.get(URI("http://127.0.0.1:#{ENV.fetch("BESIDE_PORT")}/")).to_i
end

case WHAT
when "query"
  require "mysql2"
  database = { host: "127.0.0.1", port: beside_port, username: "shop", database: "shop" }
  DATABASE = ConnectionPool.new(size: 2, timeout: 30) { Mysql2::Client.new(**database) }
when "book"
  require "redis"
  redis = { host: "127.0.0.1", port: beside_port }
  REDIS = ConnectionPool.new(size: 8, timeout: 30) { Redis.new(**redis) }
when "tidy"
  CATALOGUE = Array.new(200_000) { |i| ["article", i.to_s] }
end

def compute(cpu_ms)
  ends = Process.clock_gettime(CPU) + cpu_ms / 1000.0
  x = 1
  500.times { x = (x * 1_103_515_245 + 12_345) & 0x7fffffff } while Process.clock_gettime(CPU) < ends
  x.to_s
end

# Has the lock of the calendar while the block runs; who does not get it tries again 20 ms later.
def locked
  mine = "#{Process.pid}-#{Thread.current.object_id}"
  sleep(0.02) until REDIS.with { |redis| redis.set("lock:calendar", mine, nx: true, px: 10_000) }
  yield
ensure
  REDIS.with { |redis| redis.del("lock:calendar") }
end

def work
  case WHAT
  when "wait" then sleep(NUMBER / 1000)
  when "query" then DATABASE.with { |connection| connection.query("SELECT SLEEP(#{NUMBER / 1000})") }
  when "book" then locked { sleep(NUMBER / 1000) }
  when "tidy"
    NUMBER.to_i.times { |i| "x" * 1000 + i.to_s }
    GC.start
  end
end

run(lambda do |env|
  ms = env["QUERY_STRING"][/ms=(\d+)/, 1].to_i
  text =
    case env["PATH_INFO"]
    when "/" then "hello"
    when "/wait"
      sleep(ms / 1000.0)
      "waited"
    when "/compute" then compute(ms)
    when "/work"
      work
      "done"
    end
  [text ? 200 : 404, { "Content-Type" => "text/plain" }, [text.to_s]]
end)
