// Feathers on Koa, with Knex and MariaDB behind it, with causes to plant: node server.js PORT BESIDE_PORT WORK.
// GET /work does WORK: wait:MS, orders:MS (a query that takes so long), slip:MS (asks the service beside,
// which answers after so long).
import { feathers } from '@feathersjs/feathers'
import { bodyParser, errorHandler, koa, rest } from '@feathersjs/koa'
import knex from 'knex'

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

let database
if (what === 'orders') {
  const databasePort = Number(await (await fetch(`http://127.0.0.1:${besidePort}/`)).text())
  database = knex({ client: 'mysql2', connection: { host: '127.0.0.1', port: databasePort, user: 'shop', database: 'shop' } })
}

async function slip() {
  const answer = await fetch(`http://127.0.0.1:${besidePort}/slip?ms=${n}`)
  if (!answer.ok) throw new Error(`the service answered ${answer.status}`)
  return answer.text()
}

const works = {
  wait: () => sleep(Number(n)),
  orders: () => database.raw('SELECT id, n, SLEEP(?) FROM counters WHERE id = 1', [n / 1000]),
  slip,
}

const app = koa(feathers())
app.use(errorHandler())
app.use(bodyParser())
app.use(async (context, next) => {
  if (context.path === '/') context.body = 'hello'
  else await next()
})
app.configure(rest())
app.use('wait', { async find({ query }) { await sleep(Number(query.ms ?? 0)); return ['waited'] } })
app.use('compute', { async find({ query }) { return [compute(Number(query.ms ?? 0))] } })
app.use('work', { async find() { await works[what](); return ['done'] } })
await app.listen({ port: Number(port), host: '127.0.0.1', backlog: 1024 })
