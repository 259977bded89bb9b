// Restify, with causes to plant: node server.js PORT BESIDE_PORT WORK.
// GET /work does WORK: wait:MS, orders:MS (a query that takes so long, over a pool whose connections begin with settings that take a
// while), price:MS (a query that takes so long, over a pool of two, and some computing), labels:COUNT (makes so many labels and
// keeps them in a cache that forgets the oldest).
import { LRUCache } from 'lru-cache'
import mariadb from 'mariadb'
import restify from 'restify'

const [port, besidePort, work] = process.argv.slice(2)
const [what, n] = work.split(':')
const sleep = (ms) => new Promise((done) => setTimeout(done, ms))

function compute(ms) {
  const usedMs = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000 }
  const ends = usedMs() + ms
  let x = 1
  while (usedMs() < ends) for (let i = 0; i < 20000; i++) x = (Math.imul(x, 1103515245) + 12345) & 0x7fffffff
  return String(x)
}

async function pool(options) {
  const databasePort = Number(await (await fetch(`http://127.0.0.1:${besidePort}/`)).text())
  const database = { host: '127.0.0.1', port: databasePort, user: 'shop', database: 'shop', acquireTimeout: 60000 }
  return mariadb.createPool({ ...database, ...options })
}

// The session's role, time zone and temporary tables are set up when a connection is made; here that is a wait.
const pools = {
  orders: () => pool({ connectionLimit: 100, minimumIdle: 1, idleTimeout: 2, initSql: 'DO SLEEP(0.4)' }),
  price: () => pool({ connectionLimit: 2 }),
}
const database = await pools[what]?.()

const labels = new LRUCache({ max: 16000 })
let last = 0

function label(count) {
  for (let i = 0; i < count; i++, last++) {
    labels.set(last, Array.from({ length: 50 }, (_, line) => ({ text: `parcel ${last}`, line, box: [last % 97, line] })))
  }
}

if (what === 'labels') label(labels.max)

const works = {
  wait: () => sleep(Number(n)),
  orders: () => database.query(`DO SLEEP(${n / 1000})`),
  price: async () => {
    await database.query(`DO SLEEP(${n / 1000})`)
    compute(5)
  },
  labels: () => label(Number(n)),
}

const server = restify.createServer()
server.use(restify.plugins.queryParser())

function serve(path, handler) {
  server.get(path, async (request, response) => {
    const text = await handler(request)
    response.contentType = 'text/plain'
    response.send(text)
  })
}

serve('/', async () => 'hello')
serve('/wait', async (request) => { await sleep(Number(request.query.ms ?? 0)); return 'waited' })
serve('/compute', async (request) => compute(Number(request.query.ms ?? 0)))
serve('/work', async () => { await works[what](); return 'done' })
server.listen(Number(port), '127.0.0.1')
