# gen_tcp in Elixir, a process of the Erlang machine for each connection, with causes to plant: PORT BESIDE_PORT WORK.
#
# GET /work does WORK: wait:MS, stock:MS (calls the one process that has the stock, which waits so long for somebody else), ask:MS (asks
# the server at BESIDE_PORT over a new connection), letter:LINES (evaluates a template), sign:MS (computes).

defmodule Stock do
  use GenServer

  def init(left), do: {:ok, left}

  def handle_call({:take, ms}, _from, left) do
    Process.sleep(ms)
    {:reply, left, left - 1}
  end
end

defmodule Server do
  @template "<p>Dear <%= name %>,</p>\n<%= for line <- lines do %><li><%= line.count %> of <%= line.title %>: <%= line.count * line.price %></li>\n<% end %>"

  def start do
    [port, beside_port, work] = System.argv()
    [what, number] = String.split(work, ":")
    {:ok, stock} = GenServer.start(Stock, 1_000_000)
    settings = {what, String.to_integer(number), String.to_integer(beside_port), stock}
    options = [:binary, ip: {127, 0, 0, 1}, packet: :http_bin, active: false, reuseaddr: true, backlog: 1024, nodelay: true]
    {:ok, listener} = :gen_tcp.listen(String.to_integer(port), options)
    accept(listener, settings)
  end

  defp accept(listener, settings) do
    {:ok, socket} = :gen_tcp.accept(listener)

    process =
      spawn(fn ->
        receive do
          :go -> serve(socket, settings)
        end
      end)

    :ok = :gen_tcp.controlling_process(socket, process)
    send(process, :go)
    accept(listener, settings)
  end

  defp serve(socket, settings) do
    case :gen_tcp.recv(socket, 0) do
      {:ok, {:http_request, :GET, {:abs_path, target}, _}} ->
        skip_headers(socket)
        {status, body} = answer(target, settings)
        head = ["HTTP/1.1 ", status, "\r\nContent-Type: text/plain\r\nContent-Length: ", to_string(byte_size(body))]
        :gen_tcp.send(socket, [head, "\r\n\r\n", body])
        serve(socket, settings)

      _ ->
        :gen_tcp.close(socket)
    end
  end

  defp skip_headers(socket) do
    case :gen_tcp.recv(socket, 0) do
      {:ok, {:http_header, _, _, _, _}} -> skip_headers(socket)
      _ -> :done
    end
  end

  defp answer("/", _), do: {"200 OK", "hello"}

  defp answer("/wait?ms=" <> ms, _) do
    Process.sleep(String.to_integer(ms))
    {"200 OK", "waited"}
  end

  defp answer("/compute?ms=" <> ms, _), do: {"200 OK", compute(String.to_integer(ms))}

  defp answer("/work", {what, number, beside_port, stock}) do
    case what do
      "wait" -> Process.sleep(number)
      "stock" -> GenServer.call(stock, {:take, number}, :infinity)
      "ask" -> ask(beside_port, number)
      "letter" -> letter(number)
      "sign" -> compute(number)
    end

    {"200 OK", "done"}
  end

  defp answer(_, _), do: {"404 Not Found", ""}

  defp ask(port, ms) do
    {:ok, socket} = :gen_tcp.connect({127, 0, 0, 1}, port, [:binary, active: false, nodelay: true])
    :ok = :gen_tcp.send(socket, "GET /wait?ms=#{ms} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    {:ok, _} = :gen_tcp.recv(socket, 0)
    :gen_tcp.close(socket)
  end

  defp letter(count) do
    lines = for i <- 1..count, do: %{count: i, title: "article #{i}", price: 3}
    EEx.eval_string(@template, name: "customer", lines: lines)
  end

  # There is no clock of one process's CPU time. A piece begins with a fresh turn, so that the scheduler takes none away meanwhile; of a
  # piece that took long all the same, because the kernel interrupted it, only 100 microseconds count.
  defp compute(ms), do: compute(ms * 1_000_000, 1)
  defp compute(left_ns, x) when left_ns <= 0, do: Integer.to_string(x)

  defp compute(left_ns, x) do
    :erlang.yield()
    began_ns = :erlang.monotonic_time(:nanosecond)
    x = rounds(3000, x)
    compute(left_ns - min(:erlang.monotonic_time(:nanosecond) - began_ns, 100_000), x)
  end

  defp rounds(0, x), do: x
  defp rounds(left, x), do: rounds(left - 1, rem(x * 16_807, 2_147_483_647))
end
