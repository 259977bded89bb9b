require "webrick"
require_relative "work"

port, clients = ARGV.map(&:to_i)
server = WEBrick::HTTPServer.new(
  BindAddress: "127.0.0.1", Port: port, MaxClients: clients, AccessLog: [], Logger: WEBrick::Log.new(nil, 0)
)
server.mount_proc("/") do |request, response|
  body = Work.answer(request.path, request.query_string)
  response.status = body ? 200 : 404
  response.content_type = "text/plain"
  response.body = body || ""
end
trap("TERM") { server.shutdown }
server.start
