(* A thread for each connection, by OCaml's threads, of which one at a time computes: server PORT WORK.
   GET /work waits WORK milliseconds. *)

(* A thread has no clock of its CPU time here: a "millisecond" is this many rounds, on any machine. *)
let rounds = 700_000

let compute ms =
  let x = ref 1 in
  for _ = 1 to int_of_float ms * (rounds / 1000) do
    for _ = 1 to 1000 do
      x := (!x * 1103515245 + 12345) land 0x7fffffff
    done;
    (* A thread can be made to give up the lock where it allocates, and only there. *)
    ignore (Sys.opaque_identity (ref !x))
  done;
  string_of_int !x

let wait ms = Thread.delay (ms /. 1000.)

let ms_of target =
  try Scanf.sscanf target "%_s@?ms=%f" (fun ms -> ms) with _ -> 0.

let answer work target =
  match String.split_on_char '?' target with
  | "/" :: _ -> Some "hello"
  | "/wait" :: _ -> wait (ms_of target); Some "waited"
  | "/compute" :: _ -> Some (compute (ms_of target))
  | "/work" :: _ -> wait work; Some "done"
  | _ -> None

let rec skip_fields input = if String.trim (input_line input) <> "" then skip_fields input

let rec answer_all work input output =
  let target = Scanf.sscanf (input_line input) "%_s %s" (fun target -> target) in
  skip_fields input;
  let status, body = match answer work target with Some body -> ("200 OK", body) | None -> ("404 Not Found", "") in
  Printf.fprintf output "HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s%!" status (String.length body) body;
  answer_all work input output

let serve work connection =
  (try answer_all work (Unix.in_channel_of_descr connection) (Unix.out_channel_of_descr connection)
   with End_of_file | Sys_error _ -> ());
  Unix.close connection

let () =
  Sys.set_signal Sys.sigpipe Sys.Signal_ignore;
  let work = float_of_string Sys.argv.(2) in
  let listening = Unix.socket ~cloexec:true Unix.PF_INET Unix.SOCK_STREAM 0 in
  Unix.setsockopt listening Unix.SO_REUSEADDR true;
  Unix.bind listening (Unix.ADDR_INET (Unix.inet_addr_loopback, int_of_string Sys.argv.(1)));
  Unix.listen listening 1024;
  while true do
    match Unix.accept ~cloexec:true listening with
    | connection, _ ->
        Unix.setsockopt connection Unix.TCP_NODELAY true;
        ignore (Thread.create (serve work) connection)
    (* No descriptor is left: try again in a while. *)
    | exception Unix.Unix_error ((Unix.EMFILE | Unix.ENFILE), _, _) -> Thread.delay 0.05
  done
