;; Guile's own web server: guile server.scm PORT. It reads a request, answers it, and then reads the next.
(use-modules (web server) (web request) (web response) (web uri) (ice-9 regex))

(define (milliseconds query)
  (let ((found (and query (string-match "ms=([0-9]+)" query))))
    (if found (string->number (match:substring found 1)) 0)))

(define (used-ms)
  (/ (get-internal-run-time) (/ internal-time-units-per-second 1000.0)))

(define (compute ms)
  (let ((ends (+ (used-ms) ms)))
    (let again ((x 1))
      (if (< (used-ms) ends)
          (again (let round ((x x) (left 1000))
                   (if (zero? left)
                       x
                       (round (logand (+ (* x 1103515245) 12345) #x7fffffff) (- left 1)))))
          (number->string x)))))

(define (answer request body)
  (let* ((uri (request-uri request))
         (ms (milliseconds (uri-query uri)))
         (text (lambda (body) (values '((content-type . (text/plain))) body))))
    (cond
     ((string=? (uri-path uri) "/") (text "hello"))
     ((string=? (uri-path uri) "/wait") (usleep (* 1000 ms)) (text "waited"))
     ((string=? (uri-path uri) "/compute") (text (compute ms)))
     (else (values (build-response #:code 404) "")))))

(run-server answer 'http
            (list #:port (string->number (list-ref (command-line) 1)) #:addr INADDR_LOOPBACK))
