import type { Schedule } from '../../client/index.ts';
import { createRemoval } from '../parts/action.ts';
import { toSessionAddress } from '../parts/address.ts';
import { createAge } from '../parts/age.ts';
import { element, link } from '../parts/element.ts';
import { createFailure } from '../parts/failure.ts';
import type { Place } from '../parts/panel.ts';

/** Makes the entry of a schedule. One that an agent's code has is removed there. */
export function createEntry(
	schedule: Schedule,
	titles: ReadonlyMap<string, string>,
	{ client, signal }: Place,
): HTMLElement {
	const { id, name, agent = '', session, text } = schedule;
	const who = session === undefined ? agent : link('', toSessionAddress(session), titles.get(session) ?? 'a session');
	const head = element('p', 'card-head', element('span', 'title', name), element('span', 'about', 'wakes ', who));
	const entry = element('li', 'card', head, element('p', 'when', ...describeTimes(schedule)));
	if (text !== undefined) entry.append(element('p', 'card-text', text));
	entry.append(...createLast(schedule));
	async function remove(): Promise<void> {
		try {
			await client.cancelSchedule(id, { signal });
			entry.remove();
		} catch (error) {
			if (!signal.aborted) entry.append(createFailure(error, () => void remove()));
		}
	}
	if (session !== undefined)
		head.append(
			element(
				'span',
				'actions',
				createRemoval(name, () => void remove(), 'Remove'),
			),
		);
	return entry;
}

/** Says when a schedule wakes, and when next. */
function describeTimes({ cron, every, at, timezone = 'UTC', nextAt }: Schedule): (Node | string)[] {
	const rule = cron === undefined ? `every ${every}` : `at ${cron}, ${timezone}`;
	const when = at === undefined ? rule : `once, ${new Date(at).toLocaleString()}`;
	return nextAt === undefined ? [when, ' · over'] : [when, ' · next ', createAge(nextAt)];
}

const words = { ran: 'Ran ', skipped: 'Skipped ', failed: 'Failed ' } as const;

/** Says what became of the last time. */
function createLast({ last }: Schedule): HTMLElement[] {
	if (last === undefined) return [];
	const { at, outcome, sessionId, reason } = last;
	const run = sessionId === undefined ? [] : [' · ', link('', toSessionAddress(sessionId), 'open')];
	const why = reason === undefined ? [] : [`: ${reason}`];
	const line = element('p', 'last about', words[outcome], createAge(at), ...why, ...run);
	line.dataset.outcome = outcome;
	return [line];
}
