import * as v from 'valibot';

/**
 * Milliseconds from a session's last activity to its removal. At most a hundred years: alarms cannot be set after 2189.
 */
export const expirySchema = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(3_155_760_000_000));
