/** A session's spending and budget, the cost of each turn, a form for the budget, and the use of the context window. */

import { ClientError } from '../../client/error.ts';
import type { SessionClient } from '../../client/sessions.ts';
import type { Agent, Message, RunEvent, Session, Usage } from '../../client/types.ts';
import { describeMoney } from '../../client/words.ts';
import { configure, createTable, element, withoutTurns } from '../parts/element.ts';
import { createForm } from '../parts/form.ts';
import type { Visit } from '../parts/live.ts';

/** The maximum number of turns that are shown. They are the newest turns. */
const mostTurns = 100;
/** The number of messages that are read to find these turns. */
const mostMessages = 300;

/** Shows a session's cost in `root`, which is hidden without a cost. Turns are read only while `root` is open. */
export function createMoneyView(root: HTMLDetailsElement, client: SessionClient, readVisit: () => Visit | undefined) {
	const brief = element('span', 'brief');
	const body = element('div', 'lists money');
	const context = createContextView(client);
	root.replaceChildren(element('summary', '', element('b', '', 'Cost'), brief, context.brief), body);

	async function refresh(): Promise<void> {
		const visit = readVisit();
		if (visit === undefined) return;
		const { id, signal } = visit;
		try {
			const state = await client.getSession(id, { signal });
			const page = { limit: mostMessages, withReplaced: true, signal };
			const messages = root.open ? (await client.listEarlier(id, page)).messages : [];
			if (signal.aborted) return;
			void context.setSession(state, signal);
			root.hidden = state.budget.spent.tokens === 0;
			brief.textContent = withoutTurns(describeBudget(state.budget));
			body.replaceChildren(...createBudget(state), createRaise(state, client, refresh), ...createTurns(messages));
		} catch (error) {
			if (!signal.aborted && error instanceof ClientError) brief.textContent = withoutTurns(error.message);
		}
	}

	root.addEventListener('toggle', () => {
		if (root.open) void refresh();
	});

	return {
		refresh,
		setTurn: context.setTurn,
		clear(): void {
			context.clear();
			body.replaceChildren();
		},
	};
}

function describeBudget({ spent, limit }: Session['budget']): string {
	const tokens = limit.tokens === undefined ? '' : ` of ${limit.tokens.toLocaleString('en')}`;
	const usd = limit.usd === undefined ? '' : `, of $${limit.usd}`;
	const cost = spent.usd > 0 ? ` · ${describeMoney(spent)}${usd}` : '';
	return `${spent.tokens.toLocaleString('en')}${tokens} tokens${cost}`;
}

function createBudget({ budget: { spent, limit }, dayBudget }: Session): HTMLElement[] {
	const nodes = [];
	if (limit.tokens !== undefined) {
		const properties = { max: Math.max(1, limit.tokens), value: spent.tokens, ariaLabel: 'Tokens of the session' };
		nodes.push(configure(element('progress'), properties));
	}
	if (dayBudget !== undefined) nodes.push(element('p', 'side-note', `Your day: ${describeBudget(dayBudget)}`));
	return nodes;
}

/** Makes the form that changes the budget. A run that the budget stopped can then continue. */
function createRaise({ id, budget: { limit } }: Session, client: SessionClient, onRaised: () => void): HTMLElement {
	const field = configure(element('input'), { type: 'number', min: '0', ariaLabel: 'Budget in tokens' });
	field.value = `${limit.tokens ?? ''}`;
	const form = createForm('Set the budget', [field], async () => {
		const tokens = field.value === '' ? undefined : Number(field.value);
		await client.changeSession(id, { budget: { ...limit, tokens } });
		onRaised();
	});
	form.classList.add('raise');
	return form;
}

function createTurns(messages: readonly Message[]): HTMLElement[] {
	const turns = messages.flatMap((message) => (message.role === 'assistant' && message.turn ? [message.turn] : []));
	if (turns.length === 0) return [];
	const shown = turns.slice(-mostTurns);
	const slowest = Math.max(1, ...shown.map(({ usage }) => usage.latencyMs ?? 0));
	const rows = shown.map(({ model, usage }, at) => {
		const ms = usage.latencyMs ?? 0;
		const bar = configure(element('progress'), { max: slowest, value: ms, ariaLabel: `${ms} ms` });
		const texts = [
			...[`${turns.length - shown.length + at + 1}`, model, toCount(usage.inputTokens), toCount(usage.outputTokens)],
			...[describeTurnCost(usage), `${(ms / 1_000).toFixed(1)} s`],
		];
		return element('tr', '', ...texts.map((text) => element('td', '', text)), element('td', 'bar', bar));
	});
	return [createTable('', ['Turn', 'Model', 'In', 'Out', 'Cost', 'Time', ''], rows)];
}

function describeTurnCost({ costUsd, unpriced }: Usage): string {
	const known = costUsd ? `$${costUsd.toFixed(5)}` : '';
	if (costUsd !== undefined && unpriced === undefined) return known;
	return known === '' ? 'unknown' : `${known} and unknown`;
}

function toCount(tokens: number | undefined): string {
	return tokens === undefined ? '' : tokens.toLocaleString('en');
}

type Turn = Pick<Extract<RunEvent, { type: 'step' }>, 'model' | 'usage'>;

/** Shows how much of the model's context window the newest turn used. */
function createContextView(client: SessionClient) {
	const brief = element('span', 'context');
	let agents: readonly Agent[] = [];
	let session: Pick<Session, 'agent' | 'model'> | undefined;
	let turn: Turn | undefined;

	function show(): void {
		const used = (turn?.usage.inputTokens ?? 0) + (turn?.usage.outputTokens ?? 0);
		brief.hidden = used === 0;
		brief.textContent = describeContext(used, findWindow());
	}

	function findWindow(): number | undefined {
		const agent = agents.find(({ name }) => name === session?.agent);
		const models = [...(agent?.models ?? []), ...(agent?.fallbacks ?? [])];
		const find = (wanted = '') => models.find(({ name }) => name === wanted)?.contextWindow;
		return find(turn?.model) ?? find(session?.model);
	}

	function clear(): void {
		session = undefined;
		turn = undefined;
		show();
	}
	clear();

	return {
		brief,
		clear,
		setTurn(newest: Turn): void {
			turn = newest;
			show();
		},
		/** Reads the context window of a session's model. If the window is unknown, only the used tokens are shown. */
		async setSession(state: Pick<Session, 'agent' | 'model'>, signal: AbortSignal): Promise<void> {
			session = state;
			if (agents.length === 0) agents = await client.listAgents({ signal }).catch(() => []);
			if (!signal.aborted) show();
		},
	};
}

function describeContext(used: number, window: number | undefined): string {
	if (window === undefined) return `Context: ${used.toLocaleString('en')} tokens`;
	const percent = (100 * used) / window;
	return `Context: ${percent.toFixed(percent < 1 ? 1 : 0)}% of ${window.toLocaleString('en')}`;
}
