(* A process for each connection: server PORT OWN|LIBRARY WORK. With "library" the standard library's establish_server
   accepts and forks, and a connection has one request; with "own" the loop below does, and connections stay.
   GET /work waits WORK milliseconds. *)

let compute ms =
  let ends = Sys.time () +. (ms /. 1000.) in
  let x = ref 1 in
  while Sys.time () < ends do
    for _ = 1 to 10_000 do
      x := (!x * 1103515245 + 12345) land 0x7fffffff
    done
  done;
  string_of_int !x

let wait ms = Unix.sleepf (ms /. 1000.)

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

(* Answer requests until the client closes; with ~stays:false only one. *)
let rec serve ~stays work input output =
  let target = Scanf.sscanf (input_line input) "%_s %s" (fun target -> target) in
  skip_fields input;
  let status, body = match answer work target with Some body -> ("200 OK", body) | None -> ("404 Not Found", "") in
  Printf.fprintf output "HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: %s\r\n\r\n%s%!" status (String.length body)
    (if stays then "keep-alive" else "close") body;
  if stays then serve ~stays work input output

let quietly serve = try serve () with End_of_file | Sys_error _ -> ()

let own address work =
  let listening = Unix.socket ~cloexec:true Unix.PF_INET Unix.SOCK_STREAM 0 in
  Unix.setsockopt listening Unix.SO_REUSEADDR true;
  Unix.bind listening address;
  Unix.listen listening 1024;
  Sys.set_signal Sys.sigchld Sys.Signal_ignore;
  while true do
    let connection, _ = Unix.accept listening in
    if Unix.fork () = 0 then begin
      Unix.close listening;
      quietly (fun () ->
          serve ~stays:true work (Unix.in_channel_of_descr connection) (Unix.out_channel_of_descr connection));
      Unix._exit 0
    end;
    Unix.close connection
  done

let () =
  let address = Unix.ADDR_INET (Unix.inet_addr_loopback, int_of_string Sys.argv.(1)) in
  let work = float_of_string Sys.argv.(3) in
  Sys.set_signal Sys.sigpipe Sys.Signal_ignore;
  if Sys.argv.(2) = "own" then own address work
  else Unix.establish_server (fun input output -> quietly (fun () -> serve ~stays:false work input output)) address
