% SWI-Prolog's HTTP server: swipl server.pl PORT WORKERS
:- use_module(library(http/thread_httpd)).
:- use_module(library(http/http_dispatch)).
:- use_module(library(http/http_parameters)).

:- initialization(main, main).

:- http_handler(root(.), hello, []).
:- http_handler(root(wait), wait, []).
:- http_handler(root(compute), compute, []).

main([Port, Workers]) :-
    atom_number(Port, PortNumber),
    atom_number(Workers, Count),
    http_server(http_dispatch, [port('127.0.0.1':PortNumber), workers(Count), silent(true)]),
    thread_get_message(over).

hello(_) :-
    format("Content-type: text/plain~n~nhello").

wait(Request) :-
    ms(Request, Ms),
    Seconds is Ms / 1000,
    sleep(Seconds),
    format("Content-type: text/plain~n~nwaited").

compute(Request) :-
    ms(Request, Ms),
    statistics(cputime, Now),
    Ends is Now + Ms / 1000,
    burn(Ends, 1, X),
    format("Content-type: text/plain~n~n~d", [X]).

ms(Request, Ms) :-
    http_parameters(Request, [ms(Ms, [number, default(0)])]).

burn(Ends, X, X) :-
    statistics(cputime, Now),
    Now >= Ends,
    !.
burn(Ends, X, Last) :-
    rounds(300, X, Next),
    burn(Ends, Next, Last).

rounds(0, X, X) :- !.
rounds(N, X, Last) :-
    Next is (X * 1103515245 + 12345) /\ 0x7fffffff,
    Left is N - 1,
    rounds(Left, Next, Last).
