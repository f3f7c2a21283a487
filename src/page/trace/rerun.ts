/** Runs a message again with another model or prompt, and shows both answers side by side. */

import type { Client } from '../../client/index.ts';
import type { Message } from '../../client/types.ts';
import { describeMoney } from '../../client/words.ts';
import { toSessionAddress } from '../parts/address.ts';
import { button, configure, createTable, element, link } from '../parts/element.ts';
import { createField, createForm, createMistake, createTextArea, createTextField } from '../parts/form.ts';
import type { Visit } from '../parts/live.ts';
import { describeTime } from '../parts/time.ts';

/** Makes the button for a run of the session. */
export function createRerun(client: Client, visit: Visit, run: string): HTMLElement {
	const open = button('action', 'Rerun with…', () => {
		const form = createRerunForm(client, visit, run, (compared) => box.append(compared));
		const leave = button('', 'Cancel', () => {
			box.replaceChildren(open);
			open.focus();
		});
		form.querySelector('.form-end')?.append(leave);
		box.replaceChildren(form);
		form.querySelector('input')?.focus();
	});
	const box = element('div', 'rerun', open);
	return box;
}

function createRerunForm(
	client: Client,
	{ id, signal }: Visit,
	run: string,
	onCompared: (compared: HTMLElement) => void,
): HTMLFormElement {
	const model = createTextField('', 'as recorded');
	const prompt = configure(createTextArea('', 4), { placeholder: 'as the agent has it' });
	const models = element('datalist');
	models.id = `models-${run}`;
	model.setAttribute('list', models.id);
	void fillModels(client, id, models);
	const fields = [
		createField('Model', model),
		models,
		createField('System prompt', prompt, 'No call runs: calls get the recorded results.'),
	];
	return createForm('Rerun', fields, async () => {
		const [asked, text] = [model.value.trim(), prompt.value.trim()];
		if (asked === '' && text === '') throw createMistake('Name another model, or write another prompt.');
		const given = { ...(asked !== '' && { model: asked }), ...(text !== '' && { prompt: text }) };
		const { id: branch, runId } = await client.rerun(id, { run, ...given }, { signal });
		for await (const _ of client.followRun(branch, { signal }));
		const [recorded, again, { error }] = await Promise.all([
			client.listMessages(id, { signal }),
			client.listMessages(branch, { signal }),
			client.getSession(branch, { signal }),
		]);
		const own = again.filter((message) => message.runId === runId);
		onCompared(createComparison(measure(findChain(recorded, run)), measure(own, error?.message), branch));
	});
}

/** Offers the models of the session's agent. Any other model can be written. */
async function fillModels(client: Client, id: string, list: HTMLElement): Promise<void> {
	const [agents, session] = await Promise.all([client.listAgents(), client.getSession(id)]).catch(() => []);
	const models = agents?.find(({ name }) => name === session?.agent)?.models ?? [];
	list.replaceChildren(...models.map(({ name }) => configure(element('option'), { value: name })));
}

/** Finds the messages from a person's message to the next one, with all runs that it led to. */
function findChain(messages: readonly Message[], run: string): readonly Message[] {
	const asks = (at: number): boolean => {
		const message = messages[at];
		return message?.role === 'user' && message.isInput === true && messages[at - 1]?.runId !== message.runId;
	};
	let start = messages.findIndex(({ runId }) => runId === run);
	while (start > 0 && !asks(start)) start -= 1;
	const end = messages.findIndex((_, at) => at > start && asks(at));
	return messages.slice(Math.max(0, start), end === -1 ? undefined : end);
}

interface Measured {
	readonly answer: string;
	readonly models: string;
	readonly turns: number;
	readonly calls: number;
	/** The calls for which the recording had no answer. */
	readonly unknown: number;
	readonly tokens: number;
	/** Missing if the price of a turn is unknown. */
	readonly usd: number | undefined;
	readonly ms: number;
}

const noAnswer = 'The recording has no answer';

function measure(messages: readonly Message[], failure = ''): Measured {
	const replies = messages.filter((message) => message.role === 'assistant');
	const usages = replies.flatMap(({ turn }) => turn?.usage ?? []);
	const sum = (numbers: readonly (number | undefined)[]) => numbers.reduce<number>((all, one = 0) => all + one, 0);
	const costs = usages.map(({ costUsd }) => costUsd);
	return {
		answer: failure || (replies.at(-1)?.content ?? ''),
		models: [...new Set(replies.flatMap(({ turn }) => turn?.model ?? []))].join(', '),
		turns: replies.length,
		calls: sum(replies.map(({ toolCalls = [] }) => toolCalls.length)),
		unknown: messages.filter((message) => message.role === 'tool' && String(message.content).startsWith(noAnswer))
			.length,
		tokens: sum(
			usages.map(({ totalTokens, inputTokens = 0, outputTokens = 0 }) => totalTokens ?? inputTokens + outputTokens),
		),
		usd: costs.includes(undefined) ? undefined : sum(costs),
		ms: sum(usages.map(({ latencyMs }) => latencyMs)),
	};
}

function createComparison(recorded: Measured, again: Measured, branch: string): HTMLElement {
	const rows: readonly (readonly [name: string, read: (one: Measured) => string])[] = [
		['Model', ({ models }) => models],
		['Turns', ({ turns }) => `${turns}`],
		['Calls', ({ calls, unknown }) => (unknown === 0 ? `${calls}` : `${calls}, ${unknown} not recorded`)],
		['Tokens', ({ tokens }) => tokens.toLocaleString('en')],
		['Cost', ({ usd }) => (usd === undefined ? 'unknown' : usd === 0 ? '$0' : describeMoney({ tokens: 0, usd }))],
		['Model time', ({ ms }) => describeTime(ms)],
		['Answer', ({ answer }) => answer],
	];
	const toRow = ([name, read]: (typeof rows)[number]) =>
		element(
			'tr',
			'',
			configure(element('th', '', name), { scope: 'row' }),
			...[recorded, again].map((one) => element('td', name === 'Answer' ? 'answer' : '', read(one))),
		);
	const table = createTable('compared', ['', 'Recorded', 'Rerun'], rows.map(toRow));
	return element('div', '', table, link('', toSessionAddress(branch), 'Open the branch'));
}
