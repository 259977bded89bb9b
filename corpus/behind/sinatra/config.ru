# Sinatra on puma, in $WORKERS processes. GET /work does $WORK: wait:MS (under Sinatra's setting `lock`),
# compute:MS, ask:MS (has the server at $BESIDE_PORT wait), report:LINES (makes a report, and collects garbage after it).
require "net/http"
require "sinatra/base"

CPU = Process::CLOCK_THREAD_CPUTIME_ID
WHAT, NUMBER = ENV.fetch("WORK").split(":")
N = NUMBER.to_i
BESIDE = ENV.fetch("BESIDE_PORT").to_i
# What the application knows, in small objects.
ARTICLES = WHAT == "report" ? Array.new(200_000) { |i| { id: i, name: "article #{i}" } } : []

class Base < Sinatra::Base
  set :environment, :production
  set :protection, false
  set :logging, false
  before { content_type "text/plain" }

  def compute(cpu_ms)
    ends = Process.clock_gettime(CPU) + cpu_ms / 1000.0
    x = 1
    500.times { x = (x * 1_103_515_245 + 12_345) & 0x7fffffff } while Process.clock_gettime(CPU) < ends
    x.to_s
  end
end

class Main < Base
  get("/") { "hello" }
  get("/wait") { sleep(params["ms"].to_i / 1000.0) && "waited" }
  get("/compute") { compute(params["ms"].to_i) }
end

# The older part of the application, which is not safe for threads.
class Older < Base
  set :lock, WHAT == "wait"
  get("/*") do
    case WHAT
    when "wait" then sleep(N / 1000.0)
    when "compute" then compute(N)
    when "ask" then Net::HTTP.get(URI("http://127.0.0.1:#{BESIDE}/wait?ms=#{N}"))
    when "report"
      lines = ARTICLES.first(N).map { |article| "#{article[:id]}: #{article[:name]}" }
      lines.join("\n")
      GC.start
    end
    "done"
  end
end

map("/work") { run Older }
map("/") { run Main }
