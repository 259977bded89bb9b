-- HAProxy's own answers: it waits by its timer, and computes in the thread that has the connection. Lua is stopped and
-- goes on each ten thousand instructions, so that a thread's other connections are served meanwhile.
local function milliseconds(applet)
  return tonumber(applet.qs:match("ms=(%d+)")) or 0
end

local function answer(applet, text)
  applet:set_status(200)
  applet:add_header("content-type", "text/plain")
  applet:add_header("content-length", tostring(#text))
  applet:start_response()
  applet:send(text)
end

core.register_service("hello", "http", function(applet)
  answer(applet, "hello")
end)

core.register_service("wait", "http", function(applet)
  core.msleep(math.max(1, milliseconds(applet)))
  answer(applet, "waited")
end)

core.register_service("compute", "http", function(applet)
  local x = 1
  for _ = 1, milliseconds(applet) * 20000 do
    x = (x * 1103515245 + 12345) & 0x7fffffff
  end
  answer(applet, tostring(x))
end)
