/**
 * The directory for the files of a test run: in memory if there is room. Each test database is some hundreds of files that live for a
 * second, and file systems can be slow at that: ext4 without a journal checks every file deleted in the last minutes before it makes
 * one.
 */
import { spawnSync } from "node:child_process"
import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const inMemory = "/dev/shm"

/** A run needs less than half of it; containers often have 64 MB. */
const enough = 2 * 1024 ** 3

const hasRoom = () => {
  if (!existsSync(inMemory)) return false
  const { bavail, bsize } = statfsSync(inMemory)
  return bavail * bsize >= enough
}

const made = (parent: string) => {
  const directory = mkdtempSync(join(parent, "auspex-test-"))
  // If the tests run as root, PostgreSQL runs as an account that must be able to pass.
  chmodSync(directory, 0o711)
  return directory
}

export const removed = (directory: string) => rmSync(directory, { recursive: true, force: true })

/** PostgreSQL's programs may have to be copied there, which is useless if nothing may be run there. */
const runsPrograms = (directory: string) => {
  const program = join(directory, "program")
  writeFileSync(program, "#!/bin/sh\n", { mode: 0o755 })
  return spawnSync(program).status === 0
}

/** A new directory that everybody may pass. */
export const scratchDirectory = (): string => {
  if (!hasRoom()) return made(tmpdir())
  const directory = made(inMemory)
  if (runsPrograms(directory)) return directory
  removed(directory)
  return made(tmpdir())
}
