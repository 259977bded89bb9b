// Micro, with causes to plant: node server.js PORT WORK.
// GET /work does WORK: wait:MS, export:COUNT (exports a few of so many articles that are kept, and collects all garbage afterwards),
// previews:MS (waits, while a worker thread makes previews over and over).
import { createServer } from 'node:http'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import { createRequire } from 'node:module'

const { serve, send } = createRequire(import.meta.url)('micro')
const [port, work] = process.argv.slice(2)
const [what, n] = work.split(':')
const sleep = (ms) => new Promise((done) => setTimeout(done, ms))

function compute(ms) {
  const usedMs = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000 }
  const ends = usedMs() + ms
  let x = 1
  while (usedMs() < ends) for (let i = 0; i < 20000; i++) x = (Math.imul(x, 1103515245) + 12345) & 0x7fffffff
  return String(x)
}

const articles = []
if (what === 'export') {
  for (let i = 0; i < Number(n); i++) articles.push({ name: `article ${i}`, tags: [i % 7, i % 11], price: { net: i, gross: 1.19 * i } })
}

// Somebody has put it here when the process grew too large.
function exported() {
  const some = articles.slice(0, 50).map((article) => JSON.stringify(article)).join('\n')
  globalThis.gc()
  return some
}

// Scale a picture down to a quarter, point by point.
function preview(picture, side) {
  const small = new Uint8Array((side / 4) ** 2)
  for (let y = 0; y < side; y++) for (let x = 0; x < side; x++) small[(y >> 2) * (side / 4) + (x >> 2)] += picture[y * side + x] >> 4
  return small
}

const works = { wait: () => sleep(Number(n)), export: exported, previews: () => sleep(Number(n)) }

async function answer(request, response) {
  const url = new URL(request.url, 'http://localhost')
  const ms = Number(url.searchParams.get('ms') ?? 0)
  switch (url.pathname) {
    case '/': return 'hello'
    case '/wait': await sleep(ms); return 'waited'
    case '/compute': return compute(ms)
    case '/work': await works[what](); return 'done'
    default: return send(response, 404, 'not found')
  }
}

if (isMainThread) {
  if (what === 'previews') new Worker(new URL(import.meta.url), { argv: [port, work] }).on('message', () => {})
  createServer(serve(answer)).listen({ port: Number(port), host: '127.0.0.1', backlog: 1024 })
} else {
  const side = 2048
  const picture = new Uint8Array(side * side).fill(77)
  const next = () => { parentPort.postMessage(preview(picture, side).length); setTimeout(next, 20) }
  next()
}
