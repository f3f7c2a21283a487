/** Decisions about calls that wait for an approval: in the session, by a text, on a page, and by a link. */
import type { Actor } from '../../../../../src/core/base/actor.ts';
import { forge, pickTrying } from '../choose.ts';
import { settle } from '../look.ts';
import { observe } from '../observe.ts';
import {
	type Caller,
	findChildCall,
	judgeDecision,
	judgeIn,
	type Link,
	type Needs,
	type Outcome,
	type Session,
	toActor,
} from '../truth.ts';
import type { Answer, Target, Walk } from '../walk.ts';
import { askA2a } from './a2a.ts';
import { isFree, refused, remember, type SessionWay, type Way } from './way.ts';

/** A call to decide about. */
interface Pending {
	readonly id: string;
	readonly name: string;
	readonly input: unknown;
	/** The waiting call of the session: the call itself, or the call for which a child works. */
	readonly waiting: string;
	readonly isOfChild: boolean;
}

/** Finds the call of a session that waits for an approval. */
function findPending(session: Session | undefined): Pending | undefined {
	if (session === undefined) return undefined;
	const own = session.calls.find(({ kind }) => kind === 'approval');
	if (own !== undefined) return { ...own, waiting: own.id, isOfChild: false };
	const asked = findChildCall(session);
	return asked && { name: 'pay', ...asked, waiting: session.question?.callId ?? '', isOfChild: true };
}

const decides: Needs = { route: 'sendMessage', right: 'decide', refusal: 'run' };
/** Any text is a message. */
const says: Needs = { right: 'sendMessage', also: ['decide'], refusal: 'run' };

/** A way to decide. */
interface Deciding {
	readonly walk: Walk;
	readonly caller: Caller;
	readonly target: Target;
	readonly pending: Pending | undefined;
	readonly approve: boolean;
}

/** Creates a way to decide in a session. */
function toDeciding(
	name: string,
	weight: number,
	needs: Needs,
	ask: (one: Deciding) => (() => Promise<Answer>) | undefined,
): Way {
	const go = async (walk: Walk) => {
		const { caller, target } = pickTrying(walk, needs, (one) => findPending(one) !== undefined);
		const { session } = target;
		const allowed = judgeIn(caller, session, needs);
		const pending = findPending(session);
		if (allowed === 'ok' && (pending === undefined || !canReport(session))) return false;
		const approve = walk.chance(75);
		const deciding = { walk, caller, target, pending, approve };
		const outcome =
			allowed === 'ok' && session !== undefined ? judgeDecision(session, toActor(caller, session), approve) : allowed;
		if (allowed === 'ok' && session !== undefined) walk.said.push(describePolicy(session, toActor(caller, session)));
		const asked = ask(deciding);
		if (asked === undefined) return false;
		if (outcome !== 'ok' || session === undefined || pending === undefined) {
			await refused(walk, name, target, outcome, asked);
			return true;
		}
		walk.expect(name, await asked(), 'ok');
		await followDecision(walk, session, pending, approve);
		return true;
	};
	return { name, weight, go };
}

/** Describes the askers and the decider. */
function describePolicy({ askers }: Session, by: Actor): string {
	return `  asked by ${JSON.stringify(askers)}, decided by ${JSON.stringify(by)}`;
}

/** Whether a child can report to its parent at once. */
function canReport(session: Session | undefined): boolean {
	return session?.parent === undefined || isFree(session.parent);
}

/** Waits for the effects of a decision, and checks that an approved call runs for its askers. */
async function followDecision(walk: Walk, session: Session, { name, input }: Pending, approve: boolean): Promise<void> {
	await settle(walk, session);
	const { parent, askedBy, askers } = session;
	if (parent !== undefined) {
		// The report of a background child is a message of its askers.
		Object.assign(parent, { askedBy, askers, lastId: undefined });
		await settle(walk, parent);
	}
	const { tools } = await observe(walk);
	const mark = /zq-[\w-]{11}/.exec(JSON.stringify(input))?.[0] ?? '';
	const ran = tools.filter((told) => told.what === 'pay' && told.marks.includes(mark));
	if (name === 'pay') walk.check(ran.length === (approve ? 1 : 0), `pay ran ${ran.length} times after ${approve}`);
	if (name === 'remember' && approve) remember(walk, session, mark);
}

export const deciding: readonly Way[] = [
	toDeciding('decide', 14, decides, ({ walk, caller, target, pending, approve }) => {
		const id = walk.choose(pending?.id, pending?.waiting) ?? 'call_1';
		return () => walk.ask(caller, `/v1/sessions/${target.id}/tool-results`, { body: [{ id, approve }] });
	}),
	// A text decides only if the call belongs to a child.
	toDeciding('decide by a text', 8, says, ({ walk, caller, target, pending, approve }) =>
		pending?.isOfChild === true
			? () => walk.ask(caller, `/v1/sessions/${target.id}/answer`, { body: { text: approve ? 'approve' : 'deny no' } })
			: undefined,
	),
	toDeciding('decide on a page', 5, decides, ({ walk, caller, target, pending, approve }) =>
		pending?.isOfChild === false && target.session?.agent === 'walker'
			? () => walk.ask(caller, '/v1/ui/walker', { body: { id: target.id, messages: [toDecision(pending, approve)] } })
			: undefined,
	),
	toDeciding('decide over AG-UI', 5, decides, ({ walk, caller, target, pending, approve }) => {
		if (pending?.isOfChild !== false || target.session?.agent !== 'walker') return undefined;
		const resume = [{ interruptId: `approval:${pending.id}`, status: 'resolved', payload: { approved: approve } }];
		const body = { threadId: target.id, runId: `${pending.id} ${approve}`, messages: [], resume };
		return () => walk.ask(caller, '/v1/ag-ui/walker', { body });
	}),
	toDeciding('decide over A2A', 5, decides, ({ walk, caller, target, pending, approve }) => {
		if (pending === undefined || target.session?.agent !== 'walker') return undefined;
		const id = walk.choose(pending.id, pending.waiting);
		return () => decideOverA2a(walk, caller, target.id, { id, approve });
	}),
];

/** Finds the task of a session that waits, and sends a decision about its call. */
async function decideOverA2a(walk: Walk, caller: Caller, contextId: string, data: object): Promise<Answer> {
	const listed = await askA2a(walk, caller, 'ListTasks', { contextId, pageSize: 1 });
	const [task] = listed.result?.tasks ?? [];
	// A stranger cannot list the task. Its id is not secret.
	const taskId = task?.id ?? `${contextId}-1`;
	const message = { messageId: crypto.randomUUID(), taskId, role: 'ROLE_USER', parts: [{ data }] };
	return askA2a(walk, caller, 'SendMessage', { message, configuration: { returnImmediately: true } });
}

/** The message of a page for a decision. */
function toDecision({ id: toolCallId, name }: Pending, approved: boolean): object {
	const approval = { id: 'a', approved };
	return { role: 'assistant', parts: [{ type: `tool-${name}`, toolCallId, state: 'approval-responded', approval }] };
}

/** The links to decide, and who may make them. */
export const linking: readonly SessionWay[] = [
	{
		name: 'make links',
		weight: 8,
		right: 'manageSession',
		also: ['decide'],
		refusal: 'link',
		when: (session) => findPending(session) !== undefined,
		make: ({ walk, target, session }) => ({
			path: `/v1/sessions/${target.id}/links`,
			body: { callId: findPending(session)?.waiting ?? 'call_1', for: walk.choose(undefined, 'kim', 'lee', 'max') },
		}),
		// No links are made for somebody who may not approve.
		judge: ({ caller, session }, { body }) =>
			session === undefined ? 'ok' : judgeDecision(session, toHolder(caller, session, body), true),
		after: async ({ walk, caller, session, answer, asked }) => {
			const pending = findPending(session);
			if (pending === undefined) return;
			const { approve, deny } = answer.json<{ approve: string; deny: string }>();
			const by = toHolder(caller, session, asked.body);
			const about = { session, callId: pending.waiting, about: pending.id, by };
			walk.links.push({ ...about, url: new URL(approve).pathname, approve: true });
			walk.links.push({ ...about, url: new URL(deny).pathname, approve: false });
		},
	},
];

/** The person of a link, as its maker named them. */
function toHolder(caller: Caller, session: Session, body: unknown): Actor {
	const madeBy = toActor(caller, session);
	const user = Object(body).for ?? madeBy.user;
	const id = findPending(session)?.waiting ?? '';
	return { owner: session.owner, ...(user !== undefined && { user }), via: 'link', id, madeBy };
}

/** Returns the outcome of using a link. */
function judgeLink({ session, about, by, approve }: Link, isForged: boolean, how: 'GET' | 'POST'): Outcome {
	if (session.isGone || isForged) return 404;
	if (findPending(session)?.id !== about) return 409;
	return how === 'GET' ? 'ok' : judgeDecision(session, by, approve);
}

export const following: readonly Way[] = [
	{
		name: 'follow a link',
		weight: 10,
		go: async (walk) => {
			const open = walk.links.filter((one) => judgeLink(one, false, 'GET') === 'ok');
			const link = (walk.chance(80) ? walk.pick(open) : undefined) ?? walk.pick(walk.links);
			if (link === undefined || walk.find(link.session.id) !== link.session || !canReport(link.session)) return false;
			const isForged = walk.chance(15);
			const how = walk.chance(35) ? 'GET' : 'POST';
			const outcome = judgeLink(link, isForged, how);
			const { session } = link;
			const pending = findPending(session);
			const path = isForged ? forge(link.url) : link.url;
			// The holder of a link sees its call, so the answer is compared with the person of the session.
			const token = { id: '', text: '', session, scopes: [], madeBy: link.by, isRevoked: false };
			const reader: Caller = { kind: 'token', token, isForged: false, headers: {} };
			const ask = () => walk.ask(reader, path, { method: how, only: session });
			walk.said.push(describePolicy(session, link.by));
			if (outcome !== 'ok' || pending === undefined) {
				await refused(walk, 'follow a link', { id: session.id, session }, outcome, ask);
				return true;
			}
			walk.expect('follow a link', await ask(), 'ok');
			if (how === 'POST') await followDecision(walk, session, pending, link.approve);
			return true;
		},
	},
];
