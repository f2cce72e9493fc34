// Runs `examples/build_in_memory.rs` as WebAssembly, without a disk or an operating system:
//
//     node tests/wasm/run.mjs WASM32_UNKNOWN_UNKNOWN.wasm WASM32_WASIP1.wasm EXPECTED_OUTPUT
//
// The first module cannot print: its own assertions must hold. The second module must print the same output
// as the native program.

import assert from 'node:assert'
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { WASI } from 'node:wasi'

const [, , bare, wasi, expected] = process.argv

async function runBare() {
  const { instance } = await WebAssembly.instantiate(readFileSync(bare), {})
  // A failed assertion traps; an error sets exit status 1.
  assert.equal(instance.exports.main(0, 0), 0)
}

async function runWasi() {
  const folder = mkdtempSync(join(tmpdir(), 'kubectl-smp-wasm-'))
  try {
    const output = join(folder, 'output')
    const system = new WASI({ version: 'preview1', args: ['build'], stdout: openSync(output, 'w'), returnOnExit: true })
    const { instance } = await WebAssembly.instantiate(readFileSync(wasi), system.getImportObject())
    assert.equal(system.start(instance), 0)
    assert.equal(readFileSync(output, 'utf8'), readFileSync(expected, 'utf8'))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

await runBare()
await runWasi()
console.log('built in memory by wasm32-unknown-unknown and wasm32-wasip1 as outside of them')
