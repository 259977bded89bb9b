// D's standard library, with causes to plant: server PORT WORK MODE NOFILE. MODE: threads (one for each connection), pool:COUNT
// (so many threads, each with a connection as long as it is open), guard:MS (a thread for each connection, of which one is
// accepted each MS milliseconds). GET /work does WORK: wait:MS, lines:COUNT (asks another thread for so many lines, one by one,
// by messages), offers:COUNT (builds a list of so many, beside a catalogue), etag:KIB (hashes a page of so much). NOFILE: how
// many descriptors the process may have.
import core.sys.linux.netinet.tcp : TCP_NODELAY;
import core.sys.posix.signal : SIGPIPE, SIG_IGN, signal;
import core.sys.posix.sys.resource : RLIMIT_NOFILE, rlimit, setrlimit;
import core.sys.posix.time : CLOCK_THREAD_CPUTIME_ID, clock_gettime, timespec;
import core.thread : Thread;
import core.time : MonoTime, dur;
import std.algorithm : canFind, startsWith;
import std.concurrency : Tid, receiveOnly, send, spawn, thisTid;
import std.conv : to;
import std.digest : LetterCase, toHexString;
import std.digest.sha : sha256Of;
import std.parallelism : TaskPool, task;
import std.regex : ctRegex, matchFirst;
import std.socket;
import std.string : indexOf, split;

enum asked = ctRegex!`[?&]ms=([0-9.]+)`;

__gshared string what;
__gshared int number;
__gshared bool closing;
__gshared Offer[string] catalogue;
__gshared ubyte[] page;

final class Offer {
  string name;
  string[] words;
  Offer next;

  this(string name, string[] words, Offer next) {
    this.name = name;
    this.words = words;
    this.next = next;
  }
}

double used() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

string compute(double ms) {
  immutable ends = used() + ms;
  uint x = 1;
  while (used() < ends) {
    foreach (i; 0 .. 5000) {
      x = x * 1_103_515_245 + 12_345;
    }
  }
  return x.to!string;
}

void pause(double ms) {
  Thread.sleep(dur!"usecs"(cast(long)(ms * 1000)));
}

struct Next {
}

/// Holds a cursor, and sends the next line whenever it is asked for one.
void cursor(Tid reader, int count) {
  foreach (i; 0 .. count) {
    receiveOnly!Next();
    send(reader, "article " ~ i.to!string ~ ", which is sold by the dozen");
  }
}

size_t lines(int count) {
  auto rows = spawn(&cursor, thisTid, count);
  size_t length;
  foreach (i; 0 .. count) {
    send(rows, Next());
    length += receiveOnly!string().length;
  }
  return length;
}

/// A list of offers, linked, of which nothing is kept.
size_t offers(int count) {
  Offer last;
  foreach (i; 0 .. count) {
    last = new Offer("offer " ~ i.to!string, ["blue", "by the dozen", i.to!string], last);
  }
  return last.name.length + catalogue.length;
}

/// The page's ETag, made anew for each request.
string etag() {
  return sha256Of(page).toHexString!(LetterCase.lower)[].idup;
}

void fill(int count) {
  Offer last;
  foreach (i; 0 .. count) {
    last = new Offer("article " ~ i.to!string, ["green", "each", i.to!string], last);
    catalogue[last.name] = last;
  }
}

string answer(string path) {
  auto given = path.matchFirst(asked);
  immutable ms = given.empty ? 0 : given[1].to!double;
  if (path == "/") {
    return "hello";
  }
  if (path.startsWith("/wait")) {
    pause(ms);
    return "waited";
  }
  if (path.startsWith("/compute")) {
    return compute(ms);
  }
  if (path != "/work") {
    return "";
  }
  switch (what) {
  case "lines":
    return lines(number).to!string;
  case "offers":
    return offers(number).to!string;
  case "etag":
    return etag();
  default:
    pause(number);
    return "done";
  }
}

/// Answers what a connection asks, until it is closed.
void serve(Socket connection) {
  scope (exit) {
    connection.close();
  }
  char[8192] buffer;
  string head;
  while (true) {
    ptrdiff_t end;
    while ((end = head.indexOf("\r\n\r\n")) < 0) {
      immutable got = connection.receive(buffer);
      if (got <= 0) {
        return;
      }
      head ~= buffer[0 .. got];
    }
    auto words = head[0 .. end].split(' ');
    immutable last = head[0 .. end].canFind("Connection: close") || closing && words[1] == "/work";
    head = head[end + 4 .. $];
    immutable body = answer(words[1]);
    connection.send((body.length ? "HTTP/1.1 200 OK" : "HTTP/1.1 404 Not Found") ~ "\r\nContent-Type: text/plain\r\nContent-Length: "
        ~ body.length.to!string ~ (last ? "\r\nConnection: close" : "") ~ "\r\n\r\n" ~ body);
    if (last) {
      return;
    }
  }
}

void main(string[] given) {
  what = given[2].split(':')[0];
  number = given[2].split(':')[1].to!int;
  auto mode = given[3].split(':');
  auto nofile = rlimit(given[4].to!ulong, given[4].to!ulong);
  setrlimit(RLIMIT_NOFILE, &nofile);
  signal(SIGPIPE, SIG_IGN);
  if (what == "offers") {
    fill(300_000);
  }
  page = new ubyte[what == "etag" ? number * 1024 : 0];

  auto listener = new TcpSocket();
  listener.setOption(SocketOptionLevel.SOCKET, SocketOption.REUSEADDR, true);
  listener.bind(new InternetAddress("127.0.0.1", given[1].to!ushort));
  closing = mode[0] == "guard";
  listener.listen(closing ? 8 : 1024);
  auto pool = mode[0] == "pool" ? new TaskPool(mode[1].to!size_t) : null;
  while (true) {
    Socket connection;
    try {
      connection = listener.accept();
    } catch (SocketAcceptException) {
      pause(50); // no descriptor: perhaps one is closed
      continue;
    }
    connection.setOption(SocketOptionLevel.TCP, cast(SocketOption) TCP_NODELAY, true);
    if (pool) {
      pool.put(task!serve(connection));
    } else {
      auto thread = new Thread(((Socket accepted) => () { serve(accepted); })(connection));
      thread.isDaemon = true;
      thread.start();
    }
    if (closing) {
      pause(mode[1].to!double); // so many a second, against floods
    }
  }
}
