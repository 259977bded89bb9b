%% inets' httpd with a module of its own: erl -run server start PORT CLIENTS WORK. GET /work does WORK: price (asks the one
%% process that knows all prices, a gen_server, which computes for 5 ms), or poll (waits 150 ms).
-module(server).
-behaviour(gen_server).
-include_lib("inets/include/httpd.hrl").
-export([start/1, do/1, init/1, handle_call/3, handle_cast/2]).

%% Erlang has no clock of one process's CPU time: a "millisecond" is this many rounds, on any machine.
-define(ROUNDS, 50000).

start([Port, Clients, Work]) ->
    persistent_term:put(work, Work),
    Root = os:getenv("SCRATCH"),
    {ok, _} = application:ensure_all_started(inets),
    {ok, Prices} = gen_server:start({local, prices}, ?MODULE, [], []),
    {ok, _} = inets:start(httpd, [
        {port, list_to_integer(Port)}, {bind_address, {127, 0, 0, 1}}, {server_name, "localhost"},
        {server_root, Root}, {document_root, Root}, {modules, [?MODULE]},
        {max_clients, list_to_integer(Clients)}, {keep_alive_timeout, 120}]),
    Prices.

do(#mod{request_uri = Target}) ->
    {Status, Body} = answer(Target),
    {proceed, [{response, {response, [{code, Status}, {content_type, "text/plain"},
                                      {content_length, integer_to_list(length(Body))}], Body}}]}.

answer("/") -> {200, "hello"};
answer("/wait?ms=" ++ Ms) -> timer:sleep(list_to_integer(Ms)), {200, "waited"};
answer("/compute?ms=" ++ Ms) -> {200, integer_to_list(compute(list_to_integer(Ms) * ?ROUNDS, 1))};
answer("/work") -> work(persistent_term:get(work));
answer(_) -> {404, ""}.

work("price") -> {200, integer_to_list(gen_server:call(prices, price, infinity))};
work("poll") -> timer:sleep(150), {200, "nothing new"}.

compute(0, X) -> X;
compute(Left, X) -> compute(Left - 1, (X * 1103515245 + 12345) band 16#7fffffff).

init([]) -> {ok, 1}.

handle_call(price, _From, Last) ->
    Price = compute(5 * ?ROUNDS, Last),
    {reply, Price, Price}.

handle_cast(_, Last) -> {noreply, Last}.
