/** Sessions to which people give names, and messages to these sessions. */
import type { Actor } from '../../../../../src/core/base/actor.ts';
import type { Person } from '../persons.ts';
import { type Caller, type Session, toSpeaker } from '../truth.ts';
import type { Walk } from '../walk.ts';
import { addSession, follow, type Message, noteSaid } from './way.ts';

/** The names of chats. Several people use the same names. */
export const chats = ['first', 'second', 'third'] as const;

/** Finds the session with a name. Each person has their own names. */
export function findNamed(walk: Walk, way: string, { owner, user }: Person, name: string) {
	const key = JSON.stringify([way, owner, user, name]);
	const known = walk.find(walk.names.get(key) ?? '');
	return {
		session: known?.isGone === false ? known : undefined,
		/** Notes the session of a name: the same session as before, or a new session of this person. */
		note: (id: string, about: Partial<Session> & { readonly createdBy: Actor }): Session => {
			if (known?.isGone === false) {
				walk.check(known.id === id, `${key} led to ${id}, and before to ${known.id}`);
				return known;
			}
			walk.names.set(key, id);
			return addSession(walk, id, { owner, user, ...about });
		},
	};
}

/** Notes a message, and waits for its effects. */
export async function said(walk: Walk, session: Session, caller: Caller, message: Message): Promise<void> {
	noteSaid(walk, session, message.mark, [toSpeaker(caller, session)]);
	await follow(walk, session, message);
}
