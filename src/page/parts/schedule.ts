/** What a schedule says: when it wakes, and what came of the last time. */

import type { Schedule } from '../../client/index.ts';
import { toSessionAddress } from './address.ts';
import { describeCron, describeEvery } from './cron.ts';
import { element, link } from './element.ts';
import { createAge } from './time.ts';

export function createScheduleFacts(schedule: Schedule): HTMLElement[] {
	const { text } = schedule;
	return [
		element('p', 'when', ...describeTimes(schedule)),
		...(text === undefined ? [] : [element('p', 'card-text', text)]),
		...createLast(schedule),
	];
}

function describeTimes({ cron, every = '', at, timezone = 'UTC', nextAt }: Schedule): (Node | string)[] {
	const rule = cron === undefined ? describeEvery(every) : `${describeCron(cron)}, ${timezone}`;
	const when = at === undefined ? rule : `once, ${new Date(at).toLocaleString()}`;
	const words = element('span', '', when);
	// Those who know cron may want to see the expression.
	if (cron !== undefined) words.title = cron;
	return nextAt === undefined ? [words, ' · over'] : [words, ' · next ', createAge(nextAt)];
}

const wordsOfOutcome = { ran: 'Ran ', skipped: 'Skipped ', failed: 'Failed ' } as const;

function createLast({ last }: Schedule): HTMLElement[] {
	if (last === undefined) return [];
	const { at, outcome, sessionId, reason } = last;
	const run = sessionId === undefined ? [] : [' · ', link('', toSessionAddress(sessionId), 'open')];
	const line = element('p', 'last about', wordsOfOutcome[outcome], createAge(at), reason && `: ${reason}`, ...run);
	line.dataset.outcome = outcome;
	return [line];
}
