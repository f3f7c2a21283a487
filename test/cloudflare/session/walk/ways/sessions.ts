/** Requests that read a session, send messages, use its files, or manage it. */
import type { TraceSpan } from '../../../../../src/cloudflare/wire/trace.ts';
import { settle } from '../look.ts';
import { observe } from '../observe.ts';
import { makeMark } from '../persons.ts';
import { isIdle, type Session, toActor, toSpeaker } from '../truth.ts';
import type { Walk } from '../walk.ts';
import { follow, hasQuestion, isFree, noteSaid, type SessionWay, toPath, write } from './way.ts';

const pages = [
	'',
	'/messages',
	'/messages/65536',
	'/messages?order=desc&limit=2',
	'/tasks',
	'/waiting',
	'/events',
	'/files',
	'/changes',
];

export const reading: readonly SessionWay[] = [
	{
		name: 'read a session',
		weight: 14,
		right: 'readSession',
		isForOperators: true,
		make: ({ walk, target, session }) => {
			const page = walk.pick(pages);
			// The first message of a session has this id.
			const isThere = page !== '/messages/65536' || (session?.length ?? 0) > 0;
			return { path: toPath(target.id, isThere ? page : ''), only: session };
		},
		after: async ({ walk, answer, session, asked }) => {
			if (asked.path !== toPath(session.id)) return;
			const { user } = answer.json<{ user?: string }>();
			walk.check(user === session.user, `${session.id} shows the user ${user}`);
		},
	},
	{
		name: 'read a file',
		weight: 4,
		right: 'readSession',
		isForOperators: true,
		when: ({ file }) => file !== undefined,
		make: ({ target, session }) => ({ path: toPath(target.id, '/files/notes.md'), only: session }),
		after: async ({ walk, answer, session: { id, file = '' } }) =>
			walk.check(answer.text.includes(file), `The file of ${id} has not ${file}: ${answer.text}`),
	},
	{
		name: 'rate an answer',
		weight: 5,
		right: 'readSession',
		when: (session) => isIdle(session) && session.runId !== undefined && session.parent === undefined,
		make: ({ walk, target, session, person }) => ({
			path: toPath(target.id, `/runs/${session?.runId ?? 'run_1'}/feedback`),
			method: 'PUT',
			body: { rating: walk.choose('up', 'down'), note: makeMark(person) },
		}),
	},
	{
		name: 'export a session',
		weight: 3,
		right: 'manageSession',
		isForOperators: true,
		make: ({ target, session }) => ({ path: toPath(target.id, '/export'), only: session }),
		after: async ({ walk, answer, session }) => {
			const { user, owner } = answer.json<{ session: { user?: string; owner: string } }>().session;
			walk.check(
				user === session.user && owner === session.owner,
				`The export of ${session.id} is of ${owner}/${user}`,
			);
		},
	},
	{
		name: 'trace a session',
		weight: 2,
		right: 'manageSession',
		isForOperators: true,
		make: ({ walk, target, session }) => ({
			path: toPath(target.id, walk.pick(['/trace', '/trace?content=true'])),
			only: session,
		}),
		after: async ({ walk, answer, session }) => {
			const { resourceSpans } = answer.json<{ resourceSpans: { scopeSpans: { spans: TraceSpan[] }[] }[] }>();
			const spans = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((one) => one.spans));
			const isOwn = ({ attributes }: TraceSpan): boolean =>
				attributes.some(({ value }) => 'stringValue' in value && value.stringValue === session.id);
			walk.check(spans.every(isOwn), `The trace of ${session.id} has spans of others`);
		},
	},
];

export const talking: readonly SessionWay[] = [
	{
		name: 'send a message',
		weight: 26,
		right: 'sendMessage',
		refusal: 'run',
		when: isFree,
		make: ({ walk, target, session, person }) => {
			const message = write(
				walk,
				person,
				session === undefined || person !== session ? 'witness' : undefined,
				session?.agent,
			);
			// The answer has the failure of a failed run.
			const headers: Record<string, string> = message.command === 'fail' ? { prefer: 'respond-async' } : {};
			return { path: toPath(target.id, '/messages'), body: { text: message.text }, headers, message };
		},
		after: async ({ walk, caller, session, asked }) => {
			const { message } = asked;
			if (message === undefined) return;
			noteSaid(walk, session, message.mark, [toSpeaker(caller, session)]);
			await follow(walk, session, message);
			if (message.command === 'witness' && walk.chance(25)) await noteLast(walk, session, message.mark);
		},
	},
	{
		name: 'claim to be somebody else',
		weight: 5,
		right: 'sendMessage',
		isInvalid: true,
		when: isFree,
		make: ({ walk, target, person }) => {
			const other = { owner: 'walk-b', user: 'max', via: 'key', id: 'forged' };
			const claim = walk.choose<object>(
				{ user: 'max' },
				{ owner: 'walk-b' },
				{ by: other },
				{ askers: [other] },
				{ sender: 'max' },
			);
			return { path: toPath(target.id, '/messages'), body: { ...claim, text: write(walk, person, 'witness').text } };
		},
	},
	{
		name: 'answer a question',
		weight: 8,
		right: 'sendMessage',
		refusal: 'run',
		when: (session) => hasQuestion(session) && session.parent === undefined,
		make: ({ walk, target, person }) => ({
			path: toPath(target.id, walk.choose('/answer', '/messages')),
			body: { text: `Blue ${makeMark(person)}` },
		}),
		after: async ({ walk, caller, session }) => {
			const by = toSpeaker(caller, session);
			const child = session.question?.options?.child as { readonly id: string } | undefined;
			const asking = child === undefined ? undefined : walk.find(child.id);
			for (const one of asking === undefined ? [session] : [session, asking]) {
				one.askedBy = by;
				one.askers = [...one.askers, by];
			}
			await settle(walk, session);
			const { tools } = await observe(walk);
			walk.check(tools.length > 0, `Nothing came of the answer in ${session.id}: ${session.status}`);
		},
	},
	{
		name: 'give a result',
		weight: 6,
		right: 'sendMessage',
		refusal: 'run',
		when: ({ calls, parent }) => parent === undefined && calls[0]?.name === 'by_hand',
		make: ({ target, session, person }) => ({
			path: toPath(target.id, '/tool-results'),
			body: [{ id: session?.calls[0]?.id ?? 'call_1', output: makeMark(person) }],
		}),
		after: async ({ walk, caller, session }) => {
			session.askers = [...session.askers, toActor(caller, session)];
			await settle(walk, session);
			const { tools } = await observe(walk);
			walk.check(tools.length === 1, `${tools.length} calls came of the result in ${session.id}`);
		},
	},
	{
		name: 'ask once more',
		weight: 3,
		right: 'sendMessage',
		refusal: 'run',
		when: ({ status, parent, lastId }) => parent === undefined && status === 'completed' && lastId !== undefined,
		make: ({ target, session }) => ({
			path: toPath(target.id, '/messages'),
			body: { replaces: session?.lastId ?? '1' },
		}),
		after: async ({ walk, caller, session }) => {
			const mark = session.lastMark ?? '';
			// A person who repeats a message becomes an asker.
			const askers = [...(walk.sayers.get(mark) ?? []), toSpeaker(caller, session)];
			noteSaid(walk, session, mark, askers);
			await follow(walk, session, { command: 'witness', mark, text: '' });
		},
	},
	{
		name: 'continue a run',
		weight: 4,
		right: 'sendMessage',
		refusal: 'run',
		when: ({ status, parent, calls }) =>
			parent === undefined && (status === 'error' || (status === 'awaiting_tools' && calls.length === 0)),
		make: ({ walk, target }) => ({ path: toPath(target.id, walk.choose('/continue', '/step')), method: 'POST' }),
		after: async ({ walk, session }) => {
			await settle(walk, session);
			await observe(walk);
		},
	},
	{
		name: 'stop a run',
		weight: 4,
		right: 'sendMessage',
		refusal: 'change',
		make: ({ target }) => ({ path: toPath(target.id, '/cancel'), method: 'POST' }),
		after: async ({ walk, session }) => {
			await settle(walk, session);
			walk.check(isFree(session), `A session that was stopped is ${session.status}`);
			await observe(walk);
		},
	},
];

interface Listed {
	readonly messages: readonly { readonly id: string; readonly role: string; readonly content: unknown }[];
}

/** Notes the id of the newest message, so that it can be repeated. */
async function noteLast(walk: Walk, session: Session, mark: string): Promise<void> {
	const path = toPath(session.id, '/messages?order=desc&limit=10');
	const { messages } = (await walk.ask(walk.operator, path, { isForOperators: true })).json<Listed>();
	session.lastId = messages.find(({ role, content }) => role === 'user' && String(content).includes(mark))?.id;
	session.lastMark = mark;
}
