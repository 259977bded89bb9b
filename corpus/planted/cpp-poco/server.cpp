// Poco's HTTP server as it comes, but for its settings: server PORT THREADS WORK SCRATCH. GET /work does WORK: wait:MS,
// journal:KIB (each thread writes so much into its journal, and waits for the disk).
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <Poco/Net/HTTPRequestHandler.h>
#include <Poco/Net/HTTPRequestHandlerFactory.h>
#include <Poco/Net/HTTPServer.h>
#include <Poco/Net/HTTPServerParams.h>
#include <Poco/Net/HTTPServerRequest.h>
#include <Poco/Net/HTTPServerResponse.h>
#include <Poco/Net/ServerSocket.h>
#include <Poco/ThreadPool.h>
#include <Poco/Timespan.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace net = Poco::Net;

std::string what, scratch;
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

int open_journal() {
  static std::atomic<int> journals{0};
  std::string path = scratch + "/journal-" + std::to_string(++journals);
  int file = open(path.c_str(), O_WRONLY | O_CREAT | O_DSYNC, 0600);
  if (file < 0) throw std::runtime_error("no journal");
  return file;
}

void journal() {
  thread_local int file = open_journal();
  static const std::vector<char> record(static_cast<size_t>(number) << 10, 'r');
  if (pwrite(file, record.data(), record.size(), 0) < 0) throw std::runtime_error("not written");
}

class Handler : public net::HTTPRequestHandler {
  void handleRequest(net::HTTPServerRequest& request, net::HTTPServerResponse& response) override {
    const std::string& uri = request.getURI();
    std::string path = uri.substr(0, uri.find('?')), body = "hello";
    size_t at = uri.find("ms=");
    double ms = at == std::string::npos ? 0 : std::stod(uri.substr(at + 3));
    if (path == "/wait") {
      pause(ms);
      body = "waited";
    } else if (path == "/compute") {
      body = compute(ms);
    } else if (path == "/work") {
      what == "journal" ? journal() : pause(number);
      body = "done";
    }
    response.setContentType("text/plain");
    response.sendBuffer(body.data(), body.size());
  }
};

class Handlers : public net::HTTPRequestHandlerFactory {
  net::HTTPRequestHandler* createRequestHandler(const net::HTTPServerRequest&) override { return new Handler; }
};

int main(int, char** arguments) {
  std::string work = arguments[3];
  what = work.substr(0, work.find(':'));
  number = std::stod(work.substr(work.find(':') + 1));
  scratch = arguments[4];
  int threads = std::stoi(arguments[2]);
  Poco::ThreadPool pool(2, threads);
  net::HTTPServerParams::Ptr parameters = new net::HTTPServerParams;
  parameters->setMaxThreads(threads);
  parameters->setMaxQueued(1024);
  parameters->setKeepAlive(true);
  parameters->setMaxKeepAliveRequests(0);
  parameters->setKeepAliveTimeout(Poco::Timespan(60, 0));
  net::ServerSocket socket(net::SocketAddress("127.0.0.1", std::stoi(arguments[1])), 1024);
  net::HTTPServer server(new Handlers, pool, socket, parameters);
  server.start();
  for (;;) ::pause();
}
