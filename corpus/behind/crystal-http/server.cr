# The standard library's HTTP::Server: server PORT BESIDE_PORT POLLERS WORK_MS. GET /work waits WORK_MS.
# So many pollers ask the server at BESIDE_PORT for news, each over a connection of its own, and wait for the answer.
require "http/client"
require "http/server"

def compute(ms : Float64) : String
  ends = Process.times.utime + Process.times.stime + ms / 1000
  x = 1_u32
  while Process.times.utime + Process.times.stime < ends
    10_000.times { x = x &* 1_103_515_245_u32 &+ 12_345_u32 }
  end
  x.to_s
end

port, beside, pollers, work = ARGV[0].to_i, ARGV[1].to_i, ARGV[2].to_i, ARGV[3].to_f

pollers.times do
  spawn do
    client = HTTP::Client.new("127.0.0.1", beside)
    loop { client.get("/news?ms=2000") }
  end
end

server = HTTP::Server.new do |context|
  context.response.content_type = "text/plain"
  ms = context.request.query_params["ms"]?.try(&.to_f) || 0.0
  case context.request.path
  when "/"
    context.response.print "hello"
  when "/wait"
    sleep ms / 1000
    context.response.print "waited"
  when "/compute"
    context.response.print compute(ms)
  when "/work"
    sleep work / 1000
    context.response.print "done"
  else
    context.response.status = HTTP::Status::NOT_FOUND
  end
end

server.bind_tcp "127.0.0.1", port
server.listen
