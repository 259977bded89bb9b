// Handlers of njs. GET /work does $work: wait:MS.

function sleep(ms) {
  return new Promise((done) => setTimeout(done, ms))
}

function hello(r) {
  r.return(200, 'hello')
}

async function wait(r) {
  await sleep(Number(r.args.ms))
  r.return(200, 'waited')
}

// njs has no clock of CPU time: of a millisecond that took longer, because the worker was interrupted, only one counts.
function compute(r) {
  let left = Number(r.args.ms), last = Date.now(), x = 1
  while (left > 0) {
    for (let i = 0; i < 100; i++) x = (x * 16807 + i) % 2147483647
    const now = Date.now()
    left -= Math.min(now - last, 1)
    last = now
  }
  r.return(200, String(x))
}

async function work(r) {
  await sleep(Number(r.variables.work.split(':')[1]))
  r.return(200, 'done')
}

export default { hello, wait, compute, work }
