(* Cohttp on Lwt, with causes to plant: server PORT BESIDE_PORT WORK. GET /work does WORK: wait:MS, ask:MS (asks the server at
   BESIDE_PORT, on one of six connections that all share), tool:MS (a call that blocks so long, by Lwt_preemptive). *)
open Lwt.Infix

let port = int_of_string Sys.argv.(1)
let beside_port = int_of_string Sys.argv.(2)
let what, number =
  match String.split_on_char ':' Sys.argv.(3) with
  | [ what; text ] -> (what, float_of_string text)
  | _ -> failwith "WORK is WHAT:NUMBER"

let compute ms =
  let ends = Sys.time () +. (ms /. 1000.) in
  let x = ref 1 in
  while Sys.time () < ends do
    for _ = 1 to 5000 do
      x := ((!x * 1103515245) + 12345) land 0x7fffffff
    done
  done;
  string_of_int !x

(* A connection to what is behind, kept open; a request at a time. *)
let connect () =
  let address = Unix.ADDR_INET (Unix.inet_addr_loopback, beside_port) in
  Lwt_io.open_connection address

let pool = Lwt_pool.create 6 connect

let ask ms =
  Lwt_pool.use pool (fun (input, output) ->
      Lwt_io.write output (Printf.sprintf "GET /wait?ms=%.0f HTTP/1.1\r\nHost: beside\r\n\r\n" ms) >>= fun () ->
      let rec skip () =
        Lwt_io.read_line input >>= fun line -> if String.trim line = "" then Lwt.return_unit else skip ()
      in
      skip () >>= fun () ->
      let body = Bytes.create 4 in
      Lwt_io.read_into_exactly input body 0 4)

let work () =
  match what with
  | "ask" -> ask number
  | "tool" -> Lwt_preemptive.detach (fun () -> Thread.delay (number /. 1000.)) ()
  | _ -> Lwt_unix.sleep (number /. 1000.)

let answer body = Cohttp_lwt_unix.Server.respond_string ~status:`OK ~body ()

let callback _ request _ =
  let uri = Cohttp.Request.uri request in
  let ms = match Uri.get_query_param uri "ms" with Some text -> float_of_string text | None -> 0. in
  match Uri.path uri with
  | "/" -> answer "hello"
  | "/wait" -> Lwt_unix.sleep (ms /. 1000.) >>= fun () -> answer "waited"
  | "/compute" -> answer (compute ms)
  | "/work" -> work () >>= fun () -> answer "done"
  | _ -> Cohttp_lwt_unix.Server.respond_string ~status:`Not_found ~body:"" ()

let main () =
  let socket = Lwt_unix.socket Unix.PF_INET Unix.SOCK_STREAM 0 in
  Lwt_unix.setsockopt socket Unix.SO_REUSEADDR true;
  Lwt_unix.bind socket (Unix.ADDR_INET (Unix.inet_addr_loopback, port)) >>= fun () ->
  Lwt_unix.listen socket 1024;
  let server = Cohttp_lwt_unix.Server.make ~callback () in
  Cohttp_lwt_unix.Server.create ~mode:(`TCP (`Socket socket)) server

let () =
  if what = "tool" then Lwt_preemptive.set_bounds (0, 4);
  Lwt_main.run (main ())
