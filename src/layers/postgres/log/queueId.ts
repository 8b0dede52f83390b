/**
 * What makes predictions wait for the log: in the insert that records them, an id of the same sequence as that of
 * `log_pending`, so that all that waits has one order. Nothing else is written; the view `log_waiting` has both.
 *
 * The sequencer tells by transactions which ids may still appear (queueStart.ts), so the statement must have its
 * transaction's number before it takes an id: it has, for it has locked the challenge.
 */
export const queueId = "nextval('log_pending_id_seq')"
