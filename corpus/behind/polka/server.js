// Polka, with causes to plant: node server.js PORT BESIDE_PORT WORK BACKLOG.
// GET /work does WORK: wait:MS, pass:MS (passes the request on to the service beside, which answers after so long), form:MS (waits so
// long, and closes the connection with the answer, while each second a list is sorted out on the loop), poll:MS (waits so long,
// while some requests to the service beside are always open for news).
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import polka from 'polka'

const [port, besidePort, work, backlog] = process.argv.slice(2)
const [what, n] = work.split(':')

function compute(ms) {
  const usedMs = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000 }
  const ends = usedMs() + ms
  let x = 1
  while (usedMs() < ends) for (let i = 0; i < 20000; i++) x = (Math.imul(x, 1103515245) + 12345) & 0x7fffffff
  return String(x)
}

function beside(path) {
  return new Promise((done, failed) => {
    http.get({ host: '127.0.0.1', port: besidePort, path, agent: false }, (answer) => {
      answer.resume()
      answer.on('end', done)
    }).on('error', failed)
  })
}

async function news() {
  for (;;) await beside('/news?ms=2000')
}

const works = {
  async wait(request, answer) {
    await sleep(Number(n))
    answer.end('done')
  },
  async pass(request, answer) {
    try {
      await beside(`/parts?ms=${n}`)
      answer.end('done')
    } catch (error) {
      answer.statusCode = 502
      answer.end(error.code)
    }
  },
  async form(request, answer) {
    await sleep(Number(n))
    answer.setHeader('Connection', 'close')
    answer.end('done')
  },
  poll: async (request, answer) => works.wait(request, answer),
}

if (what === 'poll') for (let i = 0; i < 6; i++) news()
if (what === 'form') setInterval(compute, 1000, 60)

const app = polka()
  .get('/', (request, answer) => answer.end('hello'))
  .get('/wait', async (request, answer) => {
    await sleep(Number(request.query.ms ?? 0))
    answer.end('waited')
  })
  .get('/compute', (request, answer) => answer.end(compute(Number(request.query.ms ?? 0))))
  .get('/work', works[what])
app.listen(Number(port), '127.0.0.1', Number(backlog))
