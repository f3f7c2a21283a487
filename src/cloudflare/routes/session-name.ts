import type { PersonCaller } from './identity.ts';

/**
 * Returns the name that stands for a session of a caller. Each user has names of their own: what one of them calls a chat
 * never leads to the chat of another.
 *
 * @param before the name as it is without a user
 */
export function toSessionName(
	{ owner }: Pick<PersonCaller, 'owner'>,
	user: string | undefined,
	before: string,
	parts: readonly string[],
): string {
	return user === undefined ? before : JSON.stringify(['user', owner, user, ...parts]);
}
