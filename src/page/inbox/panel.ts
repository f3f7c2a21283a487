/** The inbox: what waits for a person in all sessions, to be answered here. */

import type { Agent, Approval, CallAnswer, Client } from '../../client/index.ts';
import { createAnswered, findAnswered } from '../../client/waits.ts';
import { toSessionAddress } from '../parts/address.ts';
import { createAge, describeAge } from '../parts/age.ts';
import { button, element, link } from '../parts/element.ts';
import { createFailure } from '../parts/failure.ts';
import { createOpenCall } from '../parts/open-call.ts';
import type { Panel, Place } from '../parts/panel.ts';
import { createQuestion } from '../parts/question.ts';
import { readNow } from './now.ts';

/** Entries of a page. */
const pageLength = 50;

export const inbox: Panel = {
	name: 'inbox',
	title: 'Inbox',
	about: 'What waits for a person in all sessions, the oldest first.',
	async open(root, place) {
		const list = element('ul', 'cards');
		const nothing = element('p', 'nothing', 'Nothing waits for you.');
		const more = button('more', 'Show more', () => void showMore());
		let cursor: string | undefined;
		let agents: readonly Agent[] | undefined;
		/** The keys of all entries. */
		const listed = new Set<string>();
		const find = (approval: Approval) => findSchema(approval, agents);

		async function showMore(): Promise<void> {
			more.disabled = true;
			const page = await place.client.listApprovals({ limit: pageLength, cursor, signal: place.signal });
			cursor = page.cursor;
			if (page.approvals.some(({ kind }) => kind === 'result'))
				agents ??= await place.client.listAgents({ signal: place.signal });
			for (const approval of page.approvals) listed.add(toKey(approval));
			list.append(...page.approvals.map((approval) => createEntry(approval, { place, find, listed })));
			more.disabled = false;
			more.hidden = cursor === undefined;
			nothing.hidden = list.hasChildNodes();
		}

		await showMore();
		root.append(nothing, list, more);
	},
};

/** Finds what the result is like that a call waits for. */
function findSchema({ agent, tool }: Approval, agents: readonly Agent[] = []): unknown {
	const found = agents.find(({ name }) => name === agent);
	return found?.tools.find(({ name }) => name === tool)?.outputSchema;
}

const toKey = ({ sessionId, callId }: Approval): string => `${sessionId} ${callId}`;

interface List {
	readonly place: Place;
	/** The keys of all entries. */
	readonly listed: ReadonlySet<string>;
	/** Finds what the result of a call is like. */
	readonly find: (approval: Approval) => unknown;
}

function createEntry(approval: Approval, { place, listed, find }: List): HTMLElement {
	const { sessionId, agent, title, since, expiresAt } = approval;
	const name = link('title', toSessionAddress(sessionId), title ?? 'A session without a title');
	const until = expiresAt === undefined ? [] : [element('span', 'until', `ends ${describeAge(expiresAt)}`)];
	const head = element('p', 'card-head asked-by', name, element('span', 'about', agent), createAge(since), ...until);
	const body = element('div');
	const entry = element('li', 'card', head, body);

	/** What the entry asks for. */
	let asked: readonly Approval[] = [approval];

	/** Sends an answer. The run goes on at the server; its first event says that the answer was taken. */
	async function give(to: Approval, ...[answer, words]: Parameters<Give>): Promise<void> {
		try {
			for await (const _ of answer(place.client)) break;
			body.replaceChildren(element('p', 'told', words));
			entry.classList.add('settled');
			place.changed();
		} catch (error) {
			const now = await readNow(place, to, error);
			if (place.signal.aborted) return;
			if (now !== undefined) return showNow(now);
			body.replaceChildren(createFailure(error, ask, { label: 'Look again', onClick: place.again }));
		}
	}

	/** Shows what waits in place of what somebody else has answered, unless another entry asks for it. */
	function showNow(now: readonly Approval[]): void {
		asked = now.filter((one) => one.callId === approval.callId || !listed.has(toKey(one)));
		ask();
		const nothing = asked.length > 0 ? [] : [element('p', 'told', 'Nothing waits here any more.')];
		body.prepend(createFailure(createAnswered(), ask), ...nothing);
		entry.classList.toggle('settled', asked.length === 0);
	}

	function ask(): void {
		body.replaceChildren(...asked.map((one) => createForm(one, (...given) => void give(one, ...given), find(one))));
	}
	ask();
	return entry;
}

type Give = (answer: (client: Client) => AsyncIterable<unknown>, words: string) => void;

function createForm(approval: Approval, give: Give, schema: unknown): HTMLElement {
	const { sessionId, callId, kind, tool = 'a tool', input, inputStart, question = '', options } = approval;
	if (kind === 'question') {
		const asked = { callId, question, options };
		const answer = (text: string) => ({ text, callId: findAnswered(asked) });
		return createQuestion(asked, (text) =>
			give((client) => client.answerQuestion(sessionId, answer(text)), 'Answered.'),
		);
	}
	const call = { id: callId, name: tool, input: inputStart === undefined ? input : `${inputStart}…` };
	const submit = (answer: CallAnswer) =>
		give((client) => client.submitResults(sessionId, [answer]), describeWord(answer));
	return createOpenCall(kind === 'approval' ? { ...call, kind } : call, submit, schema);
}

function describeWord(answer: CallAnswer): string {
	if (!('approve' in answer)) return 'Its result was sent.';
	return answer.approve ? 'Allowed. It runs now.' : 'Denied.';
}
