# An API in Grape on Puma, with causes to plant: WORK in the environment. GET /work does WORK: wait:MS, stock:MS (a query that takes so
# long, by Sequel), sell:MS (a transaction that takes so long and has the row of the shop's counter).
require "grape"
require "net/http"

WHAT, TEXT = ENV.fetch("WORK").split(":")
NUMBER = TEXT.to_f
CPU = Process::CLOCK_THREAD_CPUTIME_ID

if WHAT != "wait"
  require "sequel"
  port = Net::HTTP.get(URI("http://127.0.0.1:#{ENV.fetch("BESIDE_PORT")}/")).to_i
  more = WHAT == "sell" ? { max_connections: 16 } : {}
  DB = Sequel.connect(adapter: "mysql2", host: "127.0.0.1", port: port, user: "shop", database: "shop", pool_timeout: 60, **more)
end

class Shop < Grape::API
  format :txt

  helpers do
    def compute(cpu_ms)
      ends = Process.clock_gettime(CPU) + cpu_ms / 1000.0
      x = 1
      500.times { x = (x * 1_103_515_245 + 12_345) & 0x7fffffff } while Process.clock_gettime(CPU) < ends
      x.to_s
    end
  end

  params { optional :ms, type: Float, default: 0.0 }
  get("/wait") do
    sleep(params[:ms] / 1000)
    "waited"
  end

  params { optional :ms, type: Float, default: 0.0 }
  get("/compute") { compute(params[:ms]) }

  get("/") { "hello" }

  get("/work") do
    case WHAT
    when "wait" then sleep(NUMBER / 1000)
    when "stock" then DB.get(Sequel.function(:sleep, NUMBER / 1000))
    when "sell"
      DB.transaction do
        DB[:counters].where(id: 1).update(n: Sequel[:n] + 1)
        DB.get(Sequel.function(:sleep, NUMBER / 1000))
      end
    end
    "done"
  end
end

run Shop
