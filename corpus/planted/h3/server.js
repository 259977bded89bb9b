// h3 on Node's HTTP server, with causes to plant: node server.js PORT BACKLOG WORK.
// GET /work does WORK: wait:MS, batch:MS (what is asked within so many milliseconds is answered together), password:COST (checks a
// password with bcryptjs).
import { createServer } from 'node:http'
import bcrypt from 'bcryptjs'
import { createApp, createRouter, defineEventHandler, getQuery, toNodeListener } from 'h3'

const [port, backlog, work] = process.argv.slice(2)
const [what, n] = work.split(':')
const sleep = (ms) => new Promise((done) => setTimeout(done, ms))

function compute(ms) {
  const usedMs = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000 }
  const ends = usedMs() + ms
  let x = 1
  while (usedMs() < ends) for (let i = 0; i < 20000; i++) x = (Math.imul(x, 1103515245) + 12345) & 0x7fffffff
  return String(x)
}

// As a loader does it that asks the database for many keys at once.
let batch
function load() {
  batch ??= sleep(Number(n)).then(() => { batch = undefined })
  return batch
}

const hash = what === 'password' ? bcrypt.hashSync('correct horse', Number(n)) : ''

const works = {
  wait: () => sleep(Number(n)),
  batch: load,
  password: () => bcrypt.compare('battery staple', hash),
}

const ms = (event) => Number(getQuery(event).ms ?? 0)
const router = createRouter()
router.get('/', defineEventHandler(() => 'hello'))
router.get('/wait', defineEventHandler(async (event) => { await sleep(ms(event)); return 'waited' }))
router.get('/compute', defineEventHandler((event) => compute(ms(event))))
router.get('/work', defineEventHandler(async (event) => {
  await works[what]()
  if (what === 'batch') event.node.res.setHeader('Connection', 'close')
  return 'done'
}))
createServer(toNodeListener(createApp().use(router))).listen({ port: Number(port), host: '127.0.0.1', backlog: Number(backlog) })
