/** The inbox: what waits for a person in all sessions, to be answered here. */

import type { Agent, Approval, CallAnswer, Client } from '../../client/index.ts';
import { toSessionAddress } from '../parts/address.ts';
import { createAge, describeAge } from '../parts/age.ts';
import { button, element, link } from '../parts/element.ts';
import { createFailure } from '../parts/failure.ts';
import { createOpenCall } from '../parts/open-call.ts';
import type { Panel, Place } from '../parts/panel.ts';
import { createQuestion, findAnswered } from '../parts/question.ts';

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

		async function showMore(): Promise<void> {
			more.disabled = true;
			const page = await place.client.listApprovals({ limit: pageLength, cursor, signal: place.signal });
			cursor = page.cursor;
			if (page.approvals.some(({ kind }) => kind === 'result'))
				agents ??= await place.client.listAgents({ signal: place.signal });
			list.append(...page.approvals.map((approval) => createEntry(approval, place, findSchema(approval, agents))));
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

function createEntry(approval: Approval, place: Place, schema: unknown): HTMLElement {
	const { sessionId, agent, title, since, expiresAt } = approval;
	const name = link('title', toSessionAddress(sessionId), title ?? 'A session without a title');
	const until = expiresAt === undefined ? [] : [element('span', 'until', `ends ${describeAge(expiresAt)}`)];
	const head = element('p', 'card-head', name, element('span', 'about', agent), createAge(since), ...until);
	const body = element('div');
	const entry = element('li', 'card', head, body);

	/** Sends an answer. The run goes on at the server; its first event says that the answer was taken. */
	async function give(answer: (client: Client) => AsyncIterable<unknown>, words: string): Promise<void> {
		try {
			for await (const _ of answer(place.client)) break;
			body.replaceChildren(element('p', 'told', words));
			entry.classList.add('settled');
			place.changed();
		} catch (error) {
			if (!place.signal.aborted)
				body.replaceChildren(createFailure(error, ask, { label: 'Look again', onClick: place.again }));
		}
	}

	function ask(): void {
		body.replaceChildren(createForm(approval, give, schema));
	}
	ask();
	return entry;
}

type Give = (answer: (client: Client) => AsyncIterable<unknown>, words: string) => void;

function createForm(approval: Approval, give: Give, schema: unknown): HTMLElement {
	const { sessionId, callId, kind, tool = 'a tool', input, inputStart, question = '', options } = approval;
	if (kind === 'question') {
		const asked = { question, options };
		const answer = (text: string) => ({ text, callId: findAnswered(asked, callId) });
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
