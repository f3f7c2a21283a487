/** The inbox: all sessions' calls and questions that wait for a person. */

import { type Agent, type Approval, type CallAnswer, type Client, ClientError } from '../../client/index.ts';
import { createAnsweredError, findAnswered, findChildCall, isWaitingFor } from '../../client/waits.ts';
import { toSessionAddress } from '../parts/address.ts';
import { createAskedBy } from '../parts/asked-by.ts';
import { element, link } from '../parts/element.ts';
import { createFailure } from '../parts/failure.ts';
import { createKeptForms, createOpenCall, type FindSchema, findCallSchema } from '../parts/open-call.ts';
import { createPages, type Panel, type Place } from '../parts/panel.ts';
import { createQuestion } from '../parts/question.ts';

const pageLength = 50;
/** The maximum number of calls that are read after a change from elsewhere. */
const mostSeen = 100;

export const inbox: Panel = {
	name: 'inbox',
	right: 'seeInbox',
	title: 'Inbox',
	about: 'What waits for a person in all sessions, the oldest first.',
	async open(root, place) {
		const list = element('ul', 'cards');
		let agents: readonly Agent[] | undefined;
		const entries = new Map<string, Entry>();
		const toFindSchema = (of: string): FindSchema => {
			return (call, agent = of) => findCallSchema(agents ?? [], agent, call);
		};

		async function add(approvals: readonly Approval[]): Promise<void> {
			if (approvals.some((approval) => approval.kind !== 'question' || findChildCall(approval) !== undefined))
				agents ??= await place.client.listAgents({ signal: place.signal });
			const whole = await Promise.all(approvals.map((approval) => readWhole(place, approval)));
			for (const approval of whole.filter((read) => read !== undefined)) {
				const entry = createEntry(approval, { place, findSchema: toFindSchema(approval.agent), listed: entries });
				entries.set(toKey(approval), entry);
				list.append(entry.root);
			}
		}

		const pages = createPages(
			place,
			(cursor) => place.client.listApprovals({ limit: pageLength, cursor, signal: place.signal }),
			(page) => add(page.approvals),
		);

		/** Adds new entries. Marks entries that no longer wait. */
		async function lookAgain(): Promise<void> {
			const page = await place.client.listApprovals({ limit: mostSeen, signal: place.signal });
			if (place.signal.aborted) return;
			const waiting = page.approvals.map(toKey);
			const shown = [...entries.values()];
			if (page.cursor === undefined) for (const entry of shown) if (!waiting.some(entry.asks)) entry.leave();
			const isShown = (key: string) => entries.has(key) || shown.some((entry) => entry.asks(key));
			if (pages.isComplete()) await add(page.approvals.filter((approval) => !isShown(toKey(approval))));
		}

		await pages.load();
		place.onNews(lookAgain);
		root.append(element('p', 'nothing', 'Nothing waits for you.'), list, pages.more, pages.failures);
	},
};

const toKey = ({ sessionId, callId }: Approval): string => `${sessionId} ${callId}`;

interface List {
	readonly place: Place;
	/** All entries of the inbox, by key. */
	readonly listed: Pick<ReadonlyMap<string, Entry>, 'has'>;
	readonly findSchema: FindSchema;
}

interface Entry {
	readonly root: HTMLElement;
	/** Whether the entry shows the call with this key. */
	asks(key: string): boolean;
	/** Shows that the entry no longer waits, unless a person is answering it here. */
	leave(): void;
}

function createEntry(approval: Approval, { place, listed, findSchema }: List): Entry {
	const { sessionId, title } = approval;
	const body = element('div');
	const root = element('li', 'card', body);
	const forms = createKeptForms();
	let isAnswering = false;
	/** The calls and questions that the entry shows. */
	let open: readonly Approval[] = [approval];

	/** Sends an answer. The first event of the run shows that the server has accepted the answer. */
	async function sendAnswer(to: Approval, ...[send, words]: Parameters<SendAnswer>): Promise<void> {
		isAnswering = true;
		try {
			for await (const _ of send(place.client)) break;
			settle(words);
			place.changed();
		} catch (error) {
			const now = await readNow(place, to, error);
			if (place.signal.aborted) return;
			isAnswering = false;
			if (now !== undefined) return showNow(now);
			showForms();
			body.prepend(createFailure(error, showForms, { label: 'Look again', onClick: place.again }));
		}
	}

	function createEnd(words: string): HTMLElement {
		const name = link('title', toSessionAddress(sessionId), title ?? 'A session without a title');
		return element('div', 'card-end', element('p', 'card-head', name), element('p', 'notice', words));
	}

	function settle(words: string): void {
		open = [];
		body.replaceChildren(createEnd(words));
		root.classList.add('settled');
	}

	/** Shows the calls that wait now, if somebody else has answered this call. Leaves out calls of other entries. */
	function showNow(now: readonly Approval[]): void {
		open = now.filter((call) => call.callId === approval.callId || !listed.has(toKey(call)));
		showForms();
		const nothing = open.length > 0 ? [] : [createEnd('Nothing waits here any more.')];
		body.prepend(createFailure(createAnsweredError(), showForms), ...nothing);
		root.classList.toggle('settled', open.length === 0);
	}

	function showForms(): void {
		const create = (call: Approval) => createForm(call, (...answer) => void sendAnswer(call, ...answer), findSchema);
		body.replaceChildren(...open.map((call) => forms.take(JSON.stringify(call), () => create(call))));
	}
	showForms();
	return {
		root,
		asks: (key) => open.some((call) => toKey(call) === key),
		leave(): void {
			if (!isAnswering && open.length > 0) settle('It waits no more.');
		},
	};
}

/** Sends an answer. Afterwards the page shows `words` as a confirmation. */
type SendAnswer = (send: (client: Client) => AsyncIterable<unknown>, words: string) => void;

function createForm(approval: Approval, sendAnswer: SendAnswer, findSchema: FindSchema): HTMLElement {
	const { sessionId, callId, kind, tool = 'a tool', input, question: words = '', options, flow, preview } = approval;
	const session = { id: sessionId, title: approval.title };
	const createAbout = (agent = approval.agent) => createAskedBy({ ...approval, agent, session });
	if (kind === 'question') {
		const question = { callId, question: words, options };
		const onAnswer = (text: string) => {
			const body = { text, callId: findAnswered(question) };
			sendAnswer((client) => client.answerQuestion(sessionId, body), 'Answered.');
		};
		return createQuestion(question, onAnswer, { createAbout, findSchema });
	}
	const call = { id: callId, name: tool, input, flow, preview, ...(kind === 'approval' && { kind }) };
	const onAnswer = (answer: CallAnswer) =>
		sendAnswer((client) => client.submitResults(sessionId, [answer]), confirm(answer));
	const onClear = (answer: CallAnswer) =>
		sendAnswer((client) => clearAndSubmit(client, sessionId, answer), confirm(answer));
	return createOpenCall(call, onAnswer, { schema: findSchema(call), about: createAbout(), onClear });
}

/** Says that what strangers wrote in a session is harmless, and answers a call. */
async function* clearAndSubmit(client: Client, sessionId: string, answer: CallAnswer): AsyncGenerator<unknown> {
	await client.changeSession(sessionId, { clearLabels: ['outside'] });
	yield* client.submitResults(sessionId, [answer]);
}

function confirm(answer: CallAnswer): string {
	if (!('approve' in answer)) return 'Its result was sent.';
	return answer.approve ? 'Allowed. It runs now.' : 'Denied.';
}

/** Reads which calls wait now, after an answer was refused. Returns undefined if the same call still waits. */
async function readNow(
	{ client, signal }: Place,
	approval: Approval,
	error: unknown,
): Promise<readonly Approval[] | undefined> {
	if (!(error instanceof ClientError) || error.code !== 'conflict') return undefined;
	const { sessionId, agent, title, callId, question: words = '', options } = approval;
	const session = await client.getSession(sessionId, { signal }).catch(() => undefined);
	const answered = findAnswered({ callId, question: words, options });
	if (session === undefined || isWaitingFor(session, answered)) return undefined;
	const { toolCalls = [], question } = session;
	const { user, labels, budget, wait } = session;
	const since = wait?.since ?? new Date().toISOString();
	const about = { sessionId, agent, title, user, since, expiresAt: wait?.expiresAt, labels, spent: budget.spent };
	const calls = toolCalls.map(
		({ id, name, input, kind, flow, preview }): Approval => ({
			...{ ...about, callId: id, tool: name, input, kind: kind ?? 'result' },
			...{ flow, preview },
		}),
	);
	return question === undefined ? calls : [...calls, { ...about, ...question, kind: 'question' }];
}

/** Reads the arguments or the question, which the list shortens. Returns undefined if the call no longer waits. */
async function readWhole({ client, signal }: Place, approval: Approval): Promise<Approval | undefined> {
	const { inputStart, isCut, ...entry } = approval;
	if (inputStart === undefined && isCut === undefined) return approval;
	const { toolCalls = [], question } = (await client.getSession(entry.sessionId, { signal }).catch(passGone)) ?? {};
	if (entry.kind === 'question') return question?.callId === entry.callId ? { ...entry, ...question } : undefined;
	const call = toolCalls.find(({ id }) => id === entry.callId);
	return call && { ...entry, input: call.input, preview: call.preview };
}

function passGone(error: unknown): undefined {
	if (!(error instanceof ClientError) || error.code !== 'not_found') throw error;
}
