;;; Hunchentoot with its default taskmaster: a thread for each connection.
(defpackage :server (:use :cl))
(in-package :server)

(defun used-ns ()
  (multiple-value-bind (seconds nanoseconds) (sb-unix::clock-gettime sb-unix:clock-thread-cputime-id)
    (+ (* seconds 1000000000) nanoseconds)))

(defun compute (ms)
  (let ((ends (+ (used-ns) (* ms 1000000)))
        (x 1))
    (declare (type (unsigned-byte 31) x))
    (loop while (< (used-ns) ends)
          do (loop repeat 20000 do (setf x (logand (+ (* x 1103515245) 12345) #x7fffffff))))
    (format nil "~d" x)))

(defun ms-given ()
  (parse-integer (or (hunchentoot:get-parameter "ms") "0")))

(hunchentoot:define-easy-handler (hello :uri "/") ()
  (setf (hunchentoot:content-type*) "text/plain")
  "hello")

(hunchentoot:define-easy-handler (wait-handler :uri "/wait") ()
  (setf (hunchentoot:content-type*) "text/plain")
  (sleep (/ (ms-given) 1000))
  "waited")

(hunchentoot:define-easy-handler (compute-handler :uri "/compute") ()
  (setf (hunchentoot:content-type*) "text/plain")
  (compute (ms-given)))

(defun main ()
  (hunchentoot:start
   (make-instance 'hunchentoot:easy-acceptor
                  :address "127.0.0.1"
                  :port (parse-integer (second sb-ext:*posix-argv*))
                  :listen-backlog 1024
                  :access-log-destination nil
                  :message-log-destination nil))
  (loop (sleep 3600)))
