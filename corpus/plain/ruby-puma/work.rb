# What the three Ruby servers answer. Waiting and computing are inside the handler, as in a plain Rack application.
module Work
  CPU = Process::CLOCK_THREAD_CPUTIME_ID

  def self.compute(cpu_ms)
    ends = Process.clock_gettime(CPU) + cpu_ms / 1000.0
    x = 1
    500.times { x = (x * 1_103_515_245 + 12_345) & 0x7fffffff } while Process.clock_gettime(CPU) < ends
    x.to_s
  end

  # The body, or nil for an unknown path.
  def self.answer(path, query)
    ms = query.to_s[/(?:^|&)ms=(\d+)/, 1].to_i
    case path
    when "/" then "hello"
    when "/wait" then sleep(ms / 1000.0) && "waited"
    when "/compute" then compute(ms)
    end
  end
end
