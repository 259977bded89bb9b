;; Clojure on Jetty, whose pool is as large as Ring's is, with causes to plant: server.clj PORT WORK THREADS. GET /work does WORK: wait:MS,
;; total:ROWS (sums so many rows anew for the atom that all share, by swap!), print:MS (prints for so long on what all share).
(import '(java.lang.management ManagementFactory ThreadMXBean)
        '(java.nio ByteBuffer)
        '(org.eclipse.jetty.http HttpHeader)
        '(org.eclipse.jetty.io Content$Sink)
        '(org.eclipse.jetty.server Handler$Abstract Request Response Server ServerConnector)
        '(org.eclipse.jetty.util Callback)
        '(org.eclipse.jetty.util.thread QueuedThreadPool))

(set! *warn-on-reflection* true)

(let [[port work threads] *command-line-args*]
  (def port (Long/parseLong port))
  (def threads (Integer/parseInt threads))
  (def what (first (.split ^String work ":")))
  (def number (Double/parseDouble (second (.split ^String work ":")))))

(def ^ThreadMXBean clock (ManagementFactory/getThreadMXBean))

(defn compute [ms]
  (let [ends (+ (.getCurrentThreadCpuTime clock) (long (* 1e6 (double ms))))]
    (loop [x 1]
      (if (< (.getCurrentThreadCpuTime clock) ends)
        (recur (loop [y (long x) i 0]
                 (if (< i 5000) (recur (bit-and (+ (* y 1103515245) 12345) 0x7fffffff) (inc i)) y)))
        (str x)))))

(defn pause [ms] (Thread/sleep (long ms)))

(def totals (atom {:sum 0 :seen 0}))
(def printer (Object.))

(defn summed
  "The totals, with all rows summed anew."
  [before]
  (let [rows (long number)]
    {:sum (loop [x (long (:sum before)) i 0]
            (if (< i rows) (recur (bit-and (+ (* x 1103515245) i) 0x7fffffff) (inc i)) x))
     :seen (inc (long (:seen before)))}))

(defn do-work []
  (case what
    "total" (swap! totals summed)
    "print" (locking printer (pause number))
    (pause number))
  "done")

(defn answer ^String [^Request request]
  (let [uri (.getHttpURI request)
        ms (if-let [[_ text] (re-find #"ms=([0-9.]+)" (or (.getQuery uri) ""))] (Double/parseDouble text) 0.0)]
    (case (.getPath uri)
      "/" "hello"
      "/wait" (do (pause ms) "waited")
      "/compute" (compute ms)
      "/work" (do-work)
      nil)))

(def handler
  (proxy [Handler$Abstract] []
    (handle [^Request request ^Response response ^Callback callback]
      (let [body (answer request)]
        (when-not body (.setStatus response 404))
        (.put (.getHeaders response) HttpHeader/CONTENT_TYPE "text/plain")
        (Content$Sink/write response true (str body) callback)
        true))))

(let [server (Server. (QueuedThreadPool. threads))
      connector (ServerConnector. server (int 1) (int 1))]
  (.setHost connector "127.0.0.1")
  (.setPort connector (int port))
  (.setAcceptQueueSize connector 1024)
  (.addConnector server connector)
  (.setHandler server ^Handler$Abstract handler)
  (.start server)
  (.join server))
