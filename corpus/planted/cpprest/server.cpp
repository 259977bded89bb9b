// The C++ REST SDK, with causes to plant: server PORT WORK THREADS SCRATCH. THREADS: how many threads its pool has. GET /work does WORK:
// wait:MS, audit:KIB (writes so much to the disk), tariff:MS (computes, with the tariff's lock), metrics:MS (waits, while a thread
// counts in a file).
#include <cpprest/http_listener.h>
#include <fcntl.h>
#include <pplx/threadpool.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

using web::http::http_request;
using web::http::experimental::listener::http_listener;
using web::http::experimental::listener::http_listener_config;

static std::string what, folder;
static int number;
static std::atomic<int> files{0};
static std::mutex tariffs;

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

// Writes past the kernel's cache, and returns when the disk has it. Each thread has a file.
static bool audit(int kib) {
  const size_t size = static_cast<size_t>(kib) * 1024;
  thread_local int file = open((folder + "/" + std::to_string(files++)).c_str(), O_CREAT | O_WRONLY | O_DIRECT | O_DSYNC, 0600);
  thread_local void* page = aligned_alloc(4096, size);
  return pwrite(file, page, size, 0) == static_cast<ssize_t>(size);
}

static double milliseconds(const http_request& request) {
  const auto asked = web::uri::split_query(request.request_uri().query());
  const auto given = asked.find("ms");
  return given == asked.end() ? 0 : std::stod(given->second);
}

static std::string work() {
  if (what == "audit") return audit(number) ? "done" : "";
  if (what == "tariff") {
    const std::lock_guard<std::mutex> held(tariffs);
    return compute(number);
  }
  pause(number);
  return "done";
}

static void handle(http_request request) {
  const std::string path = request.request_uri().path();
  std::string body;
  if (path == "/") {
    body = "hello";
  } else if (path == "/wait") {
    pause(milliseconds(request));
    body = "waited";
  } else if (path == "/compute") {
    body = compute(milliseconds(request));
  } else if (path == "/work") {
    body = work();
  }
  request.reply(body.empty() ? web::http::status_codes::NotFound : web::http::status_codes::OK, body, "text/plain");
}

// Writes what it has counted to the disk, again and again.
static void count() {
  const int file = open((folder + "/metrics").c_str(), O_CREAT | O_WRONLY, 0600);
  char line[4096] = "requests";
  while (pwrite(file, line, sizeof line, 0) == static_cast<ssize_t>(sizeof line)) fdatasync(file);
}

int main(int given, char** words) {
  if (given < 5) return 2;
  const std::string asked = words[2];
  what = asked.substr(0, asked.find(':'));
  number = std::stoi(asked.substr(asked.find(':') + 1));
  folder = words[4];

  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  crossplat::threadpool::initialize_with_threads(static_cast<size_t>(std::atoi(words[3])));
  if (what == "metrics") std::thread(count).detach();

  http_listener_config config;
  config.set_backlog(1024);
  http_listener listener("http://127.0.0.1:" + std::string(words[1]), config);
  listener.support(web::http::methods::GET, handle);
  listener.open().wait();
  int signal = 0;
  sigwait(&ends, &signal);
  _exit(0);
}
