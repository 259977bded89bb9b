// Pistache, with causes to plant: server PORT THREADS WORK SCRATCH. THREADS: how many threads have the connections and run the
// handlers. GET /work does WORK: wait:MS, journal:KIB (writes so much to the disk), price:MS (computes; the thread that starts the
// server has pinned itself to a core).
#include <fcntl.h>
#include <pistache/endpoint.h>
#include <pistache/router.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

using namespace Pistache;

static std::string what, folder;
static int number;
static std::atomic<int> files{0};

static double used_ms() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static std::string compute(double ms) {
  const double ends = used_ms() + ms;
  volatile unsigned x = 1;
  while (used_ms() < ends)
    for (int i = 0; i < 5000; i++) x = x * 1103515245 + 12345;
  return std::to_string(x);
}

static void pause(double ms) { std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms)); }

// Writes past the kernel's cache, and returns when the disk has it. Each thread has a journal.
static bool journal(int kib) {
  thread_local int file = open((folder + "/" + std::to_string(files++)).c_str(), O_CREAT | O_WRONLY | O_DIRECT | O_DSYNC, 0600);
  thread_local void* page = aligned_alloc(4096, static_cast<size_t>(kib) * 1024);
  return pwrite(file, page, static_cast<size_t>(kib) * 1024, 0) == kib * 1024;
}

static double milliseconds(const Rest::Request& request) {
  const auto given = request.query().get("ms");
  return given ? std::stod(*given) : 0;
}

static Rest::Route::Result hello(const Rest::Request&, Http::ResponseWriter response) {
  response.send(Http::Code::Ok, "hello");
  return Rest::Route::Result::Ok;
}

static Rest::Route::Result wait(const Rest::Request& request, Http::ResponseWriter response) {
  pause(milliseconds(request));
  response.send(Http::Code::Ok, "waited");
  return Rest::Route::Result::Ok;
}

static Rest::Route::Result computed(const Rest::Request& request, Http::ResponseWriter response) {
  response.send(Http::Code::Ok, compute(milliseconds(request)));
  return Rest::Route::Result::Ok;
}

static Rest::Route::Result work(const Rest::Request&, Http::ResponseWriter response) {
  bool done = true;
  if (what == "journal")
    done = journal(number);
  else if (what == "price")
    compute(number);
  else
    pause(number);
  response.send(done ? Http::Code::Ok : Http::Code::Internal_Server_Error, "done");
  return Rest::Route::Result::Ok;
}

int main(int count, char** given) {
  if (count < 5) return 2;
  const std::string asked = given[3];
  const int threads = std::atoi(given[2]);
  what = asked.substr(0, asked.find(':'));
  number = std::stoi(asked.substr(asked.find(':') + 1));
  folder = given[4];

  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  if (what == "price") {  // only this thread is meant, but all that it starts take over its cores
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    sched_setaffinity(0, sizeof first, &first);
  }

  Rest::Router router;
  Rest::Routes::Get(router, "/", hello);
  Rest::Routes::Get(router, "/wait", wait);
  Rest::Routes::Get(router, "/compute", computed);
  Rest::Routes::Get(router, "/work", work);
  auto options = Http::Endpoint::options().flags(Tcp::Options::ReuseAddr | Tcp::Options::NoDelay).backlog(1024).threads(threads);
  options.keepaliveTimeout(std::chrono::seconds(75));
  Http::Endpoint endpoint(Address(Ipv4::loopback(), Port(static_cast<uint16_t>(std::atoi(given[1])))));
  endpoint.init(options);
  endpoint.setHandler(router.handler());
  endpoint.serveThreaded();
  int signal = 0;
  sigwait(&ends, &signal);
  _exit(0);
}
