/** Who asks a person to decide: the agent, the session, its user, since when and until when, from what text, and its cost. */

import type { Approval, Session } from '../../client/index.ts';
import { say } from '../../client/say.ts';
import { describeSpent } from '../../client/words.ts';
import { toSessionAddress } from './address.ts';
import { element, link } from './element.ts';
import { createMarks } from './labels.ts';
import { createAge, describeAge } from './time.ts';

/** What is known about a call that waits. What is missing is not shown. */
export interface Asking extends Partial<Pick<Approval, 'agent' | 'user' | 'since' | 'expiresAt' | 'labels' | 'spent'>> {
	/** The session, where it is another page. */
	readonly session?: Pick<Session, 'id' | 'title'>;
}

export function createAskedBy({ agent, session, user, since, expiresAt, labels, spent }: Asking): HTMLElement {
	const title = session && link('title', toSessionAddress(session.id), session.title ?? 'A session without a title');
	const facts = [
		title,
		agent === undefined ? undefined : element('span', 'agent', agent),
		user === undefined ? undefined : element('span', '', say('for {user}', { user })),
		since === undefined ? undefined : createAge(since),
		expiresAt === undefined
			? undefined
			: element('span', 'until', say('ends {when}', { when: describeAge(expiresAt) })),
		spent === undefined || spent.tokens === 0 ? undefined : element('span', 'spent', describeSpent(spent)),
		labels === undefined || labels.length === 0 ? undefined : element('span', 'marks', ...createMarks(labels)),
	];
	return element('p', 'asked-by', ...facts);
}
