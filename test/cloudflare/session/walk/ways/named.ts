/** Sessions that people give names, and messages that somebody says there. */
import type { Actor } from '../../../../../src/core/base/actor.ts';
import type { Person } from '../persons.ts';
import { type Caller, type Session, toSpeaker } from '../truth.ts';
import type { Walk } from '../walk.ts';
import { addSession, follow, type Message, noteSaid } from './way.ts';

/** Names that people give their chats. Several people use the same ones. */
export const chats = ['first', 'second', 'third'] as const;

/** Finds the session that somebody has given a name. Each person has names of their own. */
export function findNamed(walk: Walk, way: string, { owner, user }: Person, name: string) {
	const key = JSON.stringify([way, owner, user, name]);
	const known = walk.find(walk.names.get(key) ?? '');
	return {
		session: known?.isGone === false ? known : undefined,
		/** Notes where the name has led to: to the same session as before, or to a new one of this person. */
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

/** Notes a message, and waits for what it leads to. */
export async function said(walk: Walk, session: Session, caller: Caller, message: Message): Promise<void> {
	noteSaid(walk, session, message.mark, [toSpeaker(caller, session)]);
	await follow(walk, session, message);
}
