import * as v from 'valibot';

/** How long after its last activity a session is removed, in milliseconds: a hundred years at most, as no alarm is set for after 2189. */
export const expirySchema = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(3_155_760_000_000));
