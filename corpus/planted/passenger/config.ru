# Rack under Phusion Passenger, with causes to plant: WORK and START_S in the environment. Each process needs START_S seconds to start.
# GET /work does WORK: wait:MS, compute:MS.
WHAT, TEXT = ENV.fetch("WORK").split(":")
CPU = Process::CLOCK_THREAD_CPUTIME_ID

def compute(cpu_ms)
  ends = Process.clock_gettime(CPU) + cpu_ms / 1000.0
  x = 1
  500.times { x = (x * 1_103_515_245 + 12_345) & 0x7fffffff } while Process.clock_gettime(CPU) < ends
  x.to_s
end

def pause(ms)
  sleep(ms / 1000.0)
  "waited"
end

sleep(ENV.fetch("START_S").to_f)

run(lambda do |env|
  ms = env["QUERY_STRING"][/ms=(\d+)/, 1].to_i
  text =
    case env["PATH_INFO"]
    when "/" then "hello"
    when "/wait" then pause(ms)
    when "/compute" then compute(ms)
    when "/work" then WHAT == "compute" ? compute(TEXT.to_f) : pause(TEXT.to_f)
    end
  [text ? 200 : 404, { "Content-Type" => "text/plain", "Content-Length" => text.to_s.bytesize.to_s }, [text.to_s]]
end)
