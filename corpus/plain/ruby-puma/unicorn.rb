worker_processes Integer(ENV.fetch("WORKERS"))
preload_app true
