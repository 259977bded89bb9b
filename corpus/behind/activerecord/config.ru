# Puma with Active Record, with causes to plant: WORK in the environment. GET /work does WORK: wait:MS, query:MS (a query that takes
# so long), count:MS (counts in a row that all share, and in the same transaction waits so long for somebody else).
require "active_record"
require "net/http"

WHAT, TEXT = ENV.fetch("WORK").split(":")
SECONDS = TEXT.to_f / 1000
CPU = Process::CLOCK_THREAD_CPUTIME_ID

ActiveRecord::Base.establish_connection(
  adapter: "mysql2", host: "127.0.0.1", username: "shop", database: "shop", checkout_timeout: 30,
  port: Net::HTTP.get(URI("http://127.0.0.1:#{ENV.fetch("BESIDE_PORT")}/")).to_i,
  pool: ENV.fetch("POOL").to_i
)

class Counter < ActiveRecord::Base
end

def compute(cpu_ms)
  ends = Process.clock_gettime(CPU) + cpu_ms / 1000.0
  x = 1
  500.times { x = (x * 1_103_515_245 + 12_345) & 0x7fffffff } while Process.clock_gettime(CPU) < ends
  x.to_s
end

def work
  return sleep(SECONDS) if WHAT == "wait"

  # As Rails does: a thread keeps its connection until the request is over.
  ActiveRecord::Base.connection_pool.with_connection do |connection|
    if WHAT == "query"
      connection.execute("SELECT SLEEP(#{SECONDS})")
    else
      connection.transaction do
        connection.execute("UPDATE counters SET n = n + 1 WHERE id = 1")
        sleep(SECONDS)
      end
    end
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
