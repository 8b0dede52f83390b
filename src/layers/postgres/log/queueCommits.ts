/**
 * Part of the statement that records predictions: their commits enter the queue of the log with them, or not at all.
 * The bytes are those of `predictionCommit`, written where the statement has them: there is nothing in them to escape.
 */
export const queueCommits = `
    queued as (
      insert into log_pending (type, challenge_id, commit, entry)
      select 'prediction.commit', challenge_id, commit,
             convert_to('{"c":"' || encode(commit, 'hex') || '","challenge_id":"' || challenge_id
                        || '","type":"prediction.commit"}', 'UTF8')
        from written
    )`
