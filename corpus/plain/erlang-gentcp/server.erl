%% gen_tcp, a process of the Erlang machine for each connection, on a scheduler thread per core.
-module(server).
-export([start/1]).

%% Erlang has no clock of one process's CPU time: a "millisecond" is this many rounds, on any machine.
-define(ROUNDS, 50000).

start([Port]) -> spawn(fun() -> listen(list_to_integer(Port)) end).

listen(Port) ->
    Options = [binary, {ip, {127, 0, 0, 1}}, {packet, http_bin}, {active, false}, {reuseaddr, true},
               {backlog, 1024}, {nodelay, true}],
    {ok, Listener} = gen_tcp:listen(Port, Options),
    accept(Listener).

accept(Listener) ->
    {ok, Socket} = gen_tcp:accept(Listener),
    Process = spawn(fun() -> receive go -> serve(Socket) end end),
    ok = gen_tcp:controlling_process(Socket, Process),
    Process ! go,
    accept(Listener).

serve(Socket) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, {http_request, 'GET', {abs_path, Target}, _}} ->
            skip_headers(Socket),
            {Status, Body} = answer(Target),
            Length = integer_to_binary(byte_size(Body)),
            Head = [<<"HTTP/1.1 ">>, Status, <<"\r\nContent-Type: text/plain\r\nContent-Length: ">>, Length],
            gen_tcp:send(Socket, [Head, <<"\r\n\r\n">>, Body]),
            serve(Socket);
        _ ->
            gen_tcp:close(Socket)
    end.

skip_headers(Socket) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, {http_header, _, _, _, _}} -> skip_headers(Socket);
        _ -> done
    end.

answer(<<"/">>) -> {<<"200 OK">>, <<"hello">>};
answer(<<"/wait?ms=", Ms/binary>>) -> timer:sleep(binary_to_integer(Ms)), {<<"200 OK">>, <<"waited">>};
answer(<<"/compute?ms=", Ms/binary>>) ->
    {<<"200 OK">>, integer_to_binary(compute(binary_to_integer(Ms) * ?ROUNDS, 1))};
answer(_) -> {<<"404 Not Found">>, <<>>}.

compute(0, X) -> X;
compute(Left, X) -> compute(Left - 1, (X * 1103515245 + 12345) band 16#7fffffff).
