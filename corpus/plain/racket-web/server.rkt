#lang racket/base
;; Racket's web server: a thread of Racket for each connection, all in one thread of the kernel.
(require web-server/web-server
         web-server/http
         web-server/dispatchers/dispatch
         (prefix-in lift: web-server/dispatchers/dispatch-lift)
         net/url)

;; The clock is this Racket thread's.
(define (compute ms)
  (define ends (+ (current-process-milliseconds (current-thread)) ms))
  (let loop ([x 1])
    (if (< (current-process-milliseconds (current-thread)) ends)
        (loop (for/fold ([x x]) ([_ (in-range 2000)])
                (bitwise-and (+ (* x 1103515245) 12345) #x7fffffff)))
        (number->string x))))

(define (text body [code 200])
  (response/full code #f (current-seconds) #"text/plain" '() (list (string->bytes/utf-8 body))))

(define (answer request)
  (define uri (request-uri request))
  (define ms (string->number (cond [(assq 'ms (url-query uri)) => cdr] [else "0"])))
  (case (path/param-path (car (url-path uri)))
    [("") (text "hello")]
    [("wait") (sleep (/ ms 1000.0)) (text "waited")]
    [("compute") (text (compute ms))]
    [else (text "" 404)]))

(define port (string->number (vector-ref (current-command-line-arguments) 0)))
(void (serve #:dispatch (lift:make answer) #:listen-ip "127.0.0.1" #:port port #:max-waiting 1024))
(sync never-evt)
