/** A session's spending and budget, the cost of each turn, a form for the budget, and the use of the context window. */

import { ClientError } from '../../client/error.ts';
import type { SessionClient } from '../../client/sessions.ts';
import type { Agent, Message, RunEvent, Session, Usage } from '../../client/types.ts';
import { describeCached, describeCost, describeUsd } from '../../client/words.ts';
import { configure, createTable, element, withoutTurns } from '../parts/element.ts';
import { createForm } from '../parts/form.ts';
import type { Visit } from '../parts/live.ts';
import type { PaneTab } from '../parts/pane-tab.ts';

/** The number of messages whose turns are shown: the newest. */
const mostMessages = 100;

/** Shows a session's cost in a tab, which is hidden without a cost. Turns are read only while the tab is open. */
export function createMoneyView(tab: PaneTab, client: SessionClient, readVisit: () => Visit | undefined) {
	const brief = element('span');
	const body = element('div', 'lists money');
	/** The turns that the conversation shows. Turns of events have no time. */
	let shown: readonly ShownTurn[] = [];
	const context = createContextView(client);
	tab.brief.append(brief, context.brief);
	tab.panel.append(body);

	async function refresh(): Promise<void> {
		const visit = readVisit();
		if (visit === undefined) return;
		const { id, signal } = visit;
		try {
			const state = await client.getSession(id, { signal });
			const page = { limit: mostMessages, withReplaced: true, signal };
			const { messages } = tab.isOpen ? await client.listEarlier(id, page) : { messages: [] };
			if (signal.aborted) return;
			void context.setSession(state, signal);
			tab.isShown = state.budget.spent.tokens > 0;
			const isOwn = ({ at }: ShownTurn) => at === undefined || Date.parse(at) >= Date.parse(state.createdAt);
			const hasUnknown = shown.some((turn) => isOwn(turn) && isUnpriced(turn.usage));
			brief.textContent = withoutTurns(describeBudget(state.budget, hasUnknown));
			const turns = createTurns(listTurns(messages), isOwn);
			body.replaceChildren(...createBudget(state), createRaise(state, client, refresh), ...turns);
		} catch (error) {
			if (!signal.aborted && error instanceof ClientError) brief.textContent = withoutTurns(error.message);
		}
	}

	tab.onToggle = (isOpen) => {
		if (isOpen) void refresh();
	};

	return {
		refresh,
		addTurn(turn: Turn): void {
			shown = [...shown, turn];
			context.setTurn(turn);
		},
		/** Takes the turns of a conversation that is opened. */
		showContext(messages: readonly Message[]): void {
			shown = listTurns(messages);
			const newest = shown.at(-1);
			if (newest !== undefined) context.setTurn(newest);
		},
		clear(): void {
			tab.isShown = false;
			shown = [];
			context.clear();
			body.replaceChildren();
		},
	};
}

/** A turn of this session, or one that was copied with an older session. */
interface ShownTurn extends Turn {
	readonly at?: string;
}

function listTurns(messages: readonly Message[]): (Turn & { readonly at: string })[] {
	return messages.flatMap((message) =>
		message.role === 'assistant' && message.turn ? [{ ...message.turn, at: message.createdAt }] : [],
	);
}

function isUnpriced({ costUsd, unpriced }: Usage): boolean {
	return costUsd === undefined || unpriced !== undefined;
}

/** Describes money first, then tokens, each with its limit: `$0.0123 of $1.00 · 4,210 of 20,000 tokens`. */
function describeBudget({ spent, limit }: Session['budget'], hasUnknown = false): string {
	const money = [
		spent.usd > 0 || limit.usd !== undefined ? describeUsd(spent.usd) : '',
		toLimit(limit.usd, describeUsd),
		hasUnknown && spent.usd > 0 ? ' and an unknown part' : '',
	];
	const tokens = `${describeCount(spent.tokens)}${toLimit(limit.tokens, describeCount)} tokens`;
	return [money.join(''), tokens].filter((words) => words !== '').join(' · ');
}

function toLimit(limit: number | undefined, describe: (value: number) => string): string {
	return limit === undefined ? '' : ` of ${describe(limit)}`;
}

function createBudget({ budget: { spent, limit }, dayBudget }: Session): HTMLElement[] {
	const bars = [
		createBudgetBar('Dollars of the session', spent.usd, limit.usd),
		createBudgetBar('Tokens of the session', spent.tokens, limit.tokens),
	];
	const day = dayBudget && element('p', 'side-note', `Your day: ${describeBudget(dayBudget)}`);
	return [...bars, day].filter((node) => node !== undefined);
}

function createBudgetBar(ariaLabel: string, value: number, limit: number | undefined): HTMLElement | undefined {
	if (limit === undefined) return undefined;
	return configure(element('progress'), { max: Math.max(Number.MIN_VALUE, limit), value, ariaLabel });
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

/** Lists the turns of this session. A fork has also copied turns, which the original session has paid. */
function createTurns(all: ReturnType<typeof listTurns>, isOwn: (turn: ShownTurn) => boolean): HTMLElement[] {
	const turns = all.filter(isOwn);
	const copied = all.length - turns.length;
	const about = copied === 1 ? '1 earlier turn is copied and' : `${copied} earlier turns are copied and`;
	const note = element('p', 'side-note', `${about} not paid here.`);
	const notes = copied === 0 ? [] : [note];
	if (turns.length === 0) return notes;
	const slowest = Math.max(1, ...turns.map(({ usage }) => usage.latencyMs ?? 0));
	const rows = turns.map(({ model, usage, at }) => {
		const ms = usage.latencyMs ?? 0;
		const bar = configure(element('progress'), { max: slowest, value: ms, ariaLabel: `${ms} ms` });
		const time = configure(element('time', '', new Date(at).toLocaleTimeString()), { dateTime: at });
		const texts = [
			...[model, describeCost(usage), toCount(usage.inputTokens), describeCached(usage).replace(' from cache', '')],
			...[toCount(usage.outputTokens), `${(ms / 1_000).toFixed(1)} s`],
		];
		const cells = texts.map((text) => element('td', '', text));
		return element('tr', '', element('td', '', time), ...cells, element('td', 'bar', bar));
	});
	return [
		...notes,
		createTable('', ['Turn at', 'Model', 'Cost', 'Tokens in', 'From cache', 'Tokens out', 'Time', ''], rows),
	];
}

function toCount(tokens: number | undefined): string {
	return tokens === undefined ? '' : describeCount(tokens);
}

function describeCount(count: number): string {
	return count.toLocaleString('en');
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
