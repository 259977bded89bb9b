require_relative "work"

run lambda { |env|
  body = Work.answer(env["PATH_INFO"], env["QUERY_STRING"])
  headers = { "Content-Type" => "text/plain", "Content-Length" => (body || "").bytesize.to_s }
  [body ? 200 : 404, headers, [body || ""]]
}
