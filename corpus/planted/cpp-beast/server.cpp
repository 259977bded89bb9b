// Boost.Beast with a thread for each connection: server PORT WORK. GET /work does WORK: wait:MS, turns:COUNT (asks so many times for a
// step that one thread does; all who wait are told of each), load:MS (loads for so long what all share, under its lock), meter:MS
// (waits; beside it, two threads wake each other all of the time).
#include <time.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

namespace beast = boost::beast;
namespace http = beast::http;
using tcp = boost::asio::ip::tcp;

std::string what;
double number;

double used_ms() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

std::string compute(double cpu_ms) {
  uint32_t x = 1;
  for (double ends = used_ms() + cpu_ms; used_ms() < ends;)
    for (volatile int i = 0; i < 2000; i = i + 1) x = x * 1103515245 + 12345;
  return std::to_string(x);
}

void pause(double ms) { std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms)); }

// Steps are done by one thread, one after the other. It tells all who wait of each, of whom one may go on.
std::mutex steps_lock;
std::condition_variable step_asked, step_done;
std::deque<bool*> steps;

void do_steps() {
  std::unique_lock<std::mutex> lock(steps_lock);
  for (;;) {
    while (steps.empty()) step_asked.wait(lock);
    *steps.front() = true;
    steps.pop_front();
    step_done.notify_all();
    lock.unlock();
    lock.lock();
  }
}

void take_turns(int count) {
  for (int i = 0; i < count; i++) {
    bool done = false;
    std::unique_lock<std::mutex> lock(steps_lock);
    steps.push_back(&done);
    step_asked.notify_one();
    while (!done) step_done.wait(lock);
  }
}

// What all share; it is loaded anew under its lock.
std::mutex shared_lock;

void load(double ms) {
  std::lock_guard<std::mutex> lock(shared_lock);
  pause(ms);
}

std::string work() {
  if (what == "turns") {
    take_turns(static_cast<int>(number));
  } else if (what == "load") {
    load(number);
  } else {
    pause(number);
  }
  return "done";
}

std::string answer(const std::string& target) {
  size_t at = target.find("ms=");
  double ms = at == std::string::npos ? 0 : std::stod(target.substr(at + 3));
  if (target.rfind("/wait", 0) == 0) {
    pause(ms);
    return "waited";
  }
  if (target.rfind("/compute", 0) == 0) return compute(ms);
  if (target.rfind("/work", 0) == 0) return work();
  return "hello";
}

void serve(tcp::socket stream) {
  beast::error_code error;
  stream.set_option(tcp::no_delay(true), error);
  beast::flat_buffer buffer;
  for (;;) {
    http::request<http::empty_body> request;
    http::read(stream, buffer, request, error);
    if (error) return;
    http::response<http::string_body> response{http::status::ok, request.version()};
    response.set(http::field::content_type, "text/plain");
    response.keep_alive(request.keep_alive());
    response.body() = answer(std::string(request.target()));
    response.prepare_payload();
    http::write(stream, response, error);
    if (error || !request.keep_alive()) return;
  }
}

// A meter that two threads keep: each is woken for each step of the other.
void meter(int mine) {
  static std::mutex lock;
  static std::condition_variable changed;
  static int whose = 0;
  for (;;) {
    {
      std::unique_lock<std::mutex> held(lock);
      while (whose != mine) changed.wait(held);
      whose = 1 - mine;
      changed.notify_one();
    }
    if (mine) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

int main(int, char** arguments) {
  std::string text = arguments[2];
  what = text.substr(0, text.find(':'));
  number = std::stod(text.substr(text.find(':') + 1));
  if (what == "turns") std::thread(do_steps).detach();
  if (what == "meter")
    for (int i = 0; i < 2; i++) std::thread(meter, i).detach();
  boost::asio::io_context context;
  tcp::acceptor acceptor(context, {boost::asio::ip::make_address("127.0.0.1"), static_cast<uint16_t>(std::stoi(arguments[1]))});
  acceptor.listen(1024);
  for (;;) std::thread(serve, acceptor.accept()).detach();
}
