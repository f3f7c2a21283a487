/** The page of the staff: what waits for a decision. The cookie of the login says who decides. */
import { type Approval, createClient } from 'runlet/client';
import { createButton, createElement, find } from './dom.ts';

const approvals = find('#approvals', HTMLElement);
const empty = find('#empty', HTMLElement);
const problem = find('#problem', HTMLElement);
const digest = find('#digest', HTMLElement);

const lookMs = 3_000;
const runlet = createClient({ baseUrl: '/ai' });
/** The calls that the page shows. */
let shown = '';

async function list(): Promise<void> {
	const { approvals: waiting } = await runlet.listApprovals({ kind: 'approval', limit: 100 });
	const calls = waiting.map(({ sessionId, callId }) => `${sessionId} ${callId}`).join(' ');
	if (calls === shown) return;
	shown = calls;
	empty.hidden = waiting.length > 0;
	approvals.replaceChildren(...waiting.map(createCard));
}

function createCard(approval: Approval): HTMLElement {
	const { user = 'nobody', agent, tool = '', input, inputStart, since } = approval;
	const about = `${user} asks ${agent}, since ${new Date(since).toLocaleString()}`;
	return createElement(
		'section',
		'card',
		createElement('h3', '', tool),
		createElement('pre', '', inputStart ?? JSON.stringify(input, undefined, 2)),
		createElement('p', 'note', about),
		createButton('Approve', () => work(() => decide(approval, true))),
		createButton('Deny', () => work(() => decide(approval, false))),
	);
}

/** Decides about a call. The run goes on by itself, so the page reads only that the decision was taken. */
async function decide({ sessionId, callId }: Approval, approve: boolean): Promise<void> {
	for await (const _ of runlet.submitResults(sessionId, [{ id: callId, approve }])) break;
	await list();
}

async function showDigest(): Promise<void> {
	const { sessions } = await runlet.listSessions({ agent: 'digest', limit: 20 });
	// That of the schedule belongs to the shop, and to nobody of it.
	const own = sessions.find(({ user }) => user === undefined);
	if (own === undefined) return;
	const { messages } = await runlet.listEarlier(own.id, { limit: 10 });
	const written = messages.findLast(({ role, content }) => role === 'assistant' && content !== '');
	if (typeof written?.content === 'string') digest.textContent = written.content;
}

/** Says what goes wrong, such as a decision that a colleague has made before. */
async function work(task: () => Promise<unknown>): Promise<void> {
	problem.textContent = '';
	await task().catch((error: unknown) => {
		problem.textContent = error instanceof Error ? error.message : String(error);
	});
}

setInterval(() => {
	if (!document.hidden) void list().catch(() => {});
}, lookMs);

void work(list);
void work(showDigest);
