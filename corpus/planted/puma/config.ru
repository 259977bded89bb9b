# For puma: GET /work does the steps of $WORK in turn, joined by "+": wait:MS, compute:MS.
CPU = Process::CLOCK_THREAD_CPUTIME_ID
WORK = ENV.fetch("WORK").split("+").map { |part| part.split(":") }.map { |what, n| [what, n.to_f] }

def compute(cpu_ms)
  ends = Process.clock_gettime(CPU) + cpu_ms / 1000.0
  x = 1
  500.times { x = (x * 1_103_515_245 + 12_345) & 0x7fffffff } while Process.clock_gettime(CPU) < ends
  x
end

run lambda { |env|
  ms = env["QUERY_STRING"].to_s[/(?:^|&)ms=(\d+)/, 1].to_f
  paths = { "/" => [], "/wait" => [["wait", ms]], "/compute" => [["compute", ms]], "/work" => WORK }
  steps = paths[env["PATH_INFO"]]
  (steps || []).each { |what, n| what == "wait" ? sleep(n / 1000) : compute(n) }
  [steps ? 200 : 404, { "Content-Type" => "text/plain", "Content-Length" => "4" }, ["done"]]
}
