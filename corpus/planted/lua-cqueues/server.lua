-- cqueues: lua server.lua PORT BESIDE_PORT WORK. Each connection has a coroutine; all of them share one thread and one loop (epoll).
-- GET /work does WORK: wait:MS, tool:MS (calls a tool that takes so long, with io.popen, which knows nothing of the loop), list:MS
-- (sorts a list again and again, for so long).
local cqueues = require("cqueues")
local socket = require("cqueues.socket")

local port, work = arg[1], arg[2]
local what, n = work:match("^(%a+):(%d+)$")
n = tonumber(n)

local function compute(ms)
  local ends, x = os.clock() + ms / 1000, 1
  while os.clock() < ends do
    for _ = 1, 2000 do
      x = (x * 1103515245 + 12345) & 0x7fffffff
    end
  end
  return tostring(x)
end

local function tool(ms)
  local output = assert(io.popen(("sleep %.3f; echo done"):format(ms / 1000)))
  output:read("a")
  output:close()
end

local function list(ms)
  local ends = os.clock() + ms / 1000
  while os.clock() < ends do
    local names = {}
    for i = 1, 200 do
      names[i] = "name " .. (i * 7919) % 211
    end
    table.sort(names)
  end
end

local function body(path, ms)
  if path == "/" then
    return "hello"
  elseif path == "/wait" then
    cqueues.sleep(ms / 1000)
    return "waited"
  elseif path == "/compute" then
    return compute(ms)
  elseif path == "/work" then
    if what == "tool" then
      tool(n)
    elseif what == "list" then
      list(n)
    else
      cqueues.sleep(n / 1000)
    end
    return "done"
  end
end

local function serve(connection)
  connection:setmode("b", "bf")
  while true do
    local first = connection:read("*l")
    if not first then
      break
    end
    repeat
      local line = connection:read("*l")
    until not line or line == "" or line == "\r"
    local path, query = first:match("^%u+ ([^ ?]*)%??([^ ]*)")
    local text = body(path, tonumber(query:match("ms=(%d+)")) or 0)
    local status = text and "200 OK" or "404 Not Found"
    text = text or ""
    connection:write("HTTP/1.1 ", status, "\r\nContent-Type: text/plain\r\nContent-Length: ", #text, "\r\n\r\n", text)
    connection:flush()
  end
  connection:close()
end

local listening = socket.listen({ host = "127.0.0.1", port = tonumber(port), nodelay = true, reuseaddr = true })
local loop = cqueues.new()
loop:wrap(function()
  for connection in listening:clients() do
    connection:onerror(function(_, _, code)
      return code
    end)
    loop:wrap(serve, connection)
  end
end)
assert(loop:loop())
