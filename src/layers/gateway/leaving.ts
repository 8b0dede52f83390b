/** A client that may leave before its call has ended, and what is given up when it does. */
export class Leaving {
  #hasLeft = false
  #giveUp: (() => void) | undefined

  get hasLeft(): boolean {
    return this.#hasLeft
  }

  /** Given up when the client leaves, instead of what was named before. */
  give(giveUp: () => void): void {
    this.#giveUp = giveUp
  }

  leave(): void {
    if (this.#hasLeft) return
    this.#hasLeft = true
    this.#giveUp?.()
  }
}
