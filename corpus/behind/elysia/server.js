// Elysia, with causes to plant: bun server.js PORT BESIDE_PORT WORK PROCESSES.
// GET /work does WORK: wait:MS, search:ROWS (searches a table of so many rows in SQLite), ask:MS (asks the service beside, which
// answers after so long), shelf:MS (waits so long, beside a catalogue that lies in memory).
// With more than one process each listens at the port by itself (reusePort).
import { Database } from 'bun:sqlite'
import { Elysia } from 'elysia'

const [port, besidePort, work, processes] = Bun.argv.slice(2)
const [what, n] = work.split(':')

if (Number(processes) > 1) {
  const command = [process.execPath, import.meta.path, port, besidePort, work, '1']
  const children = Array.from({ length: Number(processes) }, () =>
    Bun.spawn(command, { stdio: ['ignore', 'inherit', 'inherit'], env: { ...process.env, SHARED: 'yes' } }))
  process.on('SIGTERM', () => { children.forEach((child) => child.kill()); process.exit() })
  await Promise.race(children.map((child) => child.exited))
  children.forEach((child) => child.kill())
  process.exit(1)
}

function compute(ms) {
  const usedMs = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000 }
  const ends = usedMs() + ms
  let x = 1
  while (usedMs() < ends) for (let i = 0; i < 20000; i++) x = (Math.imul(x, 1103515245) + 12345) & 0x7fffffff
  return String(x)
}

const sleep = (ms) => new Promise((done) => setTimeout(done, ms))

// The customers are in memory, so that they are found quickly; nobody has thought of an index for a part of a name.
function customers(rows) {
  const database = new Database(':memory:')
  database.run('CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT)')
  const insert = database.prepare('INSERT INTO customers (name) VALUES (?)')
  database.transaction(() => {
    for (let i = 0; i < rows; i++) insert.run(`Customer ${Math.imul(i, 2654435761) >>> 0} of the shop`)
  })()
  return database.prepare("SELECT count(*) AS found FROM customers WHERE name LIKE '%' || ? || '%'")
}

function catalogue(articles) {
  return Array.from({ length: articles }, (_, i) => ({ id: i, name: `article ${i}`, tags: [`t${i % 7}`, `u${i % 11}`] }))
}

const query = what === 'search' ? customers(Number(n)) : null
const shelf = what === 'shelf' ? catalogue(400000) : []

const works = {
  wait: async () => { await sleep(Number(n)); return 'done' },
  search: () => String(query.get('4711').found),
  ask: async () => (await fetch(`http://127.0.0.1:${besidePort}/price?ms=${n}`)).text(),
  shelf: async () => { await sleep(Number(n)); return shelf[4711].name },
}

new Elysia()
  .get('/', () => 'hello')
  .get('/wait', async ({ query: { ms = '0' } }) => { await sleep(Number(ms)); return 'waited' })
  .get('/compute', ({ query: { ms = '0' } }) => compute(Number(ms)))
  .get('/work', works[what])
  .listen({ port: Number(port), hostname: '127.0.0.1', reusePort: process.env.SHARED === 'yes' })
