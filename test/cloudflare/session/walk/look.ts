/** Reads sessions as an operator, and compares them with the model of the walk. */
import { restart } from '../../../client.ts';
import { isEqual, toName } from './persons.ts';
import { isIdle, type Session, type Waiting } from './truth.ts';
import type { Target, Walk } from './walk.ts';

/** The number of reads after which the walk fails. It is high because the machine may be busy. */
export const mostTries = 5_000;

/** The state of a session that an operator reads. */
export interface State {
	readonly owner: string;
	readonly user?: string;
	readonly agent: string;
	readonly metadata?: Readonly<Record<string, string>>;
	readonly status: string;
	readonly run?: { readonly id: string };
	readonly toolCalls?: readonly Waiting[];
	readonly question?: Session['question'];
	readonly parent?: { readonly id: string };
	readonly waiting?: number;
	readonly children?: readonly StateOfChild[];
}

interface StateOfChild {
	readonly id: string;
	readonly agent: string;
	readonly background?: boolean;
	readonly spent?: object;
}

/** Reads a session as an operator, and compares it with the model. */
export async function look(walk: Walk, session: Session): Promise<State> {
	const answer = await walk.ask(walk.operator, `/v1/sessions/${session.id}`, { isForOperators: true });
	walk.check(answer.status === 200, `The session ${session.id} is not there: ${answer.text}`);
	const state = answer.json<State>();
	const { owner, user, agent, metadata = {} } = state;
	const isSame = owner === session.owner && user === session.user && agent === session.agent;
	walk.check(isSame, `${session.id} belongs to ${owner}/${user} (${agent}), not to ${toName(session)}`);
	walk.check(isEqual(metadata, session.metadata), `${session.id} has the metadata ${JSON.stringify(metadata)}`);
	walk.check(state.parent?.id === session.parent?.id, `${session.id} works for ${state.parent?.id}`);
	session.status = state.status;
	session.runId = state.run?.id;
	session.calls = state.toolCalls ?? [];
	session.question = state.question;
	for (const child of state.children ?? []) addChild(walk, session, child);
	return state;
}

async function exists(walk: Walk, { id }: Session): Promise<boolean> {
	const { status } = await walk.ask(walk.operator, `/v1/sessions/${id}`, { isForOperators: true });
	return status !== 404;
}

function addChild(walk: Walk, parent: Session, { id, agent, background: isBackground = false }: StateOfChild): void {
	if (walk.find(id) !== undefined) return;
	const { owner, user, metadata, createdBy, askedBy, askers } = parent;
	const about = { id, agent, owner, user, metadata, createdBy, askedBy, askers, parent, isBackground };
	walk.add({ ...about, isGone: false, status: 'running', calls: [], length: 2, naps: new Map() });
}

/** Waits until nothing runs in a session and its children. */
export async function settle(walk: Walk, session: Session): Promise<void> {
	for (let tries = 0; ; tries++) {
		const { status, children = [], waiting = 0 } = await look(walk, session);
		let isBusy = status === 'running' || (waiting > 0 && !status.startsWith('awaiting'));
		for (const { id, spent } of children) {
			const child = walk.find(id);
			if (child === undefined || child.isGone || (spent !== undefined && isIdle(child))) continue;
			// A parent lists a child before the child is created.
			if (spent === undefined && !(await exists(walk, child))) {
				isBusy = true;
				continue;
			}
			const state = await look(walk, child);
			isBusy ||= child.isBackground === true && spent === undefined && !state.status.startsWith('awaiting');
		}
		if (!isBusy) return;
		if (tries > mostTries) walk.fail(`${session.id} does not come to rest: ${status}`);
		await new Promise((resolve) => setTimeout(resolve, 5));
	}
}

/** Kills the object of a session: the rows stay, but the state in memory is lost. */
export async function restartSome(walk: Walk): Promise<boolean> {
	const session = walk.pick(walk.sessions.filter(({ isGone }) => !isGone));
	if (session === undefined) return false;
	await restart(session.id);
	// A request may be lost while the object dies.
	await look(walk, session);
	walk.count('restart an object', true);
	return true;
}

/** Returns the state of a session, to see changes. */
export async function peek(walk: Walk, { id }: Target): Promise<string> {
	const read = (path: string) => walk.ask(walk.operator, `/v1/sessions/${id}${path}`, { isForOperators: true });
	const [state, messages, files] = [await read(''), await read('/messages?order=desc&limit=3'), await read('/files')];
	return [state, messages, files].map(({ status, text }) => `${status} ${text}`).join('\n');
}
