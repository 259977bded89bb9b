%% Yaws, embedded, with an appmod for all paths: an Erlang process for each connection.
-module(server).
-export([start/1, out/1]).

-include_lib("yaws/include/yaws_api.hrl").

%% Erlang has no clock of one process's CPU time: a "millisecond" is this many rounds, on any machine.
-define(ROUNDS, 16000).

start([Port, Folder]) ->
    Server = [{port, list_to_integer(Port)}, {listen, {127, 0, 0, 1}}, {servername, "127.0.0.1"},
              {appmods, [{"/", ?MODULE}]}, {access_log, false}, {listen_backlog, 1024},
              {flags, [{access_log, false}]}],
    ok = yaws:start_embedded(Folder, Server, [{logdir, Folder}], "crumple").

out(Request) ->
    {abs_path, Target} = (Request#arg.req)#http_request.path,
    case Target of
        "/" -> text("hello");
        "/wait?ms=" ++ Ms -> timer:sleep(list_to_integer(Ms)), text("waited");
        "/compute?ms=" ++ Ms -> text(integer_to_list(compute(list_to_integer(Ms) * ?ROUNDS, 1)));
        _ -> {status, 404}
    end.

text(Body) -> {content, "text/plain", Body}.

compute(0, X) -> X;
compute(Left, X) -> compute(Left - 1, (X * 1103515245 + 12345) band 16#7fffffff).
