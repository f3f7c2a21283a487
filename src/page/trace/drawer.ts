/** The drawer beside a chat: the time and cost of its runs, and their events as they arrive. */

import type { Usage } from '../../client/types.ts';
import { describeTokens } from '../../client/words.ts';
import { createChart } from '../parts/chart.ts';
import { button, element, find } from '../parts/element.ts';
import { createFailure } from '../parts/failure.ts';
import { describeTime } from '../parts/time.ts';
import { createEventList } from './events.ts';
import { type Trace, type Watch, type WatchClient, watchSession } from './load.ts';
import { createWaterfall } from './waterfall.ts';

/** `toCurl` writes the command that reads the events of a session. */
export function createTraceDrawer(client: WatchClient, toCurl: (session: string) => string) {
	const root = find('#trace', HTMLElement);
	const opener = find('#trace-open', HTMLButtonElement);
	const waterfall = createWaterfall(() => watch?.readOlder() ?? Promise.resolve());
	const events = createEventList(() => toCurl(session ?? ''));
	const turns = element('div', 'turns');
	const failure = element('div');
	let session: string | undefined;
	let visit = new AbortController();
	let watch: Watch | undefined;
	const tabs = createTabs([
		['Trace', waterfall.root],
		['Turns', turns],
		['Events', events.root],
	]);
	const close = button('', 'Close', () => setOpen(false));
	root.append(element('header', '', ...tabs, close), failure, waterfall.root, turns, events.root);

	function setOpen(isOpen: boolean): void {
		root.hidden = !isOpen;
		opener.setAttribute('aria-expanded', `${isOpen}`);
		restart();
		(isOpen ? tabs[0] : opener)?.focus();
	}

	/** Clears the drawer, and reads again if it is open. */
	function restart(): void {
		visit.abort();
		visit = new AbortController();
		waterfall.clear();
		turns.replaceChildren();
		failure.replaceChildren();
		events.clear();
		watch = undefined;
		if (root.hidden || session === undefined) return;
		watch = watchSession(client, session, visit.signal, {
			onTrace: (trace) => {
				waterfall.show(trace);
				showTurns(turns, trace);
			},
			onEvent: events.push,
			onFailure: (error) => failure.replaceChildren(createFailure(error, restart)),
		});
		watch.refresh();
	}

	opener.addEventListener('click', () => setOpen(root.hidden !== false));
	root.addEventListener('keydown', ({ key }) => {
		if (key === 'Escape') setOpen(false);
	});

	return {
		/** Turns to a session, and looks again if it is there already. Without one there is no drawer. */
		show(id: string | undefined): void {
			if (id === session) {
				watch?.refresh();
				return;
			}
			session = id;
			opener.hidden = id === undefined;
			if (id === undefined) {
				root.hidden = true;
				opener.setAttribute('aria-expanded', 'false');
			}
			restart();
		},
	};
}

/** Makes the buttons that show one of some parts. */
function createTabs(parts: readonly (readonly [title: string, part: HTMLElement])[]): HTMLButtonElement[] {
	const tabs = parts.map(([title], at) => button('tab', title, () => choose(at)));
	function choose(chosen: number): void {
		for (const [at, [, part]] of parts.entries()) {
			part.hidden = at !== chosen;
			tabs[at]?.setAttribute('aria-pressed', `${at === chosen}`);
		}
	}
	choose(0);
	return tabs;
}

/** Turns that are shown: the newest. */
const mostTurns = 120;

function showTurns(root: HTMLElement, { runs }: Trace): void {
	const all = runs.flatMap(({ spans }) => spans.flatMap(({ depth, usage }) => (depth === 0 && usage ? [usage] : [])));
	const turns = all.slice(-mostTurns);
	const number = (at: number) => `Turn ${all.length - turns.length + at + 1}`;
	const draw = (
		title: string,
		read: (usage: Usage) => readonly number[],
		say: (sum: number) => string,
		names?: string[],
	) => {
		const bars = turns.map((usage, at) => {
			const parts = read(usage);
			return {
				name: number(at),
				parts,
				words: names === undefined ? say(sum(parts)) : describeTokens(usage),
			};
		});
		const most = Math.max(0, ...bars.map(({ parts }) => sum(parts)));
		return most === 0 ? [] : [createChart(title, bars, say(most), { parts: names })];
	};
	root.replaceChildren(
		...draw(
			'Tokens',
			(one) => [one.inputTokens ?? 0, one.outputTokens ?? 0],
			(tokens) => tokens.toLocaleString('en'),
			['in', 'out'],
		),
		...draw('Time', ({ latencyMs = 0 }) => [latencyMs], describeTime),
		...draw(
			'Cost',
			({ costUsd = 0 }) => [costUsd],
			(usd) => `$${usd.toFixed(usd < 0.01 ? 5 : 2)}`,
		),
	);
	if (!root.hasChildNodes()) root.append(element('p', 'nothing', 'The model has had no turn yet.'));
}

function sum(parts: readonly number[]): number {
	return parts.reduce((total, part) => total + part, 0);
}

/**
 * Writes the command that reads the events of a session in a shell. It has no key: where the server wants one, the shell
 * puts it in.
 */
export function toCurl(baseUrl: string, session: string, wantsKey: boolean): string {
	const url = new URL(`v1/sessions/${encodeURIComponent(session)}/events`, baseUrl).href.replaceAll("'", '%27');
	const key = wantsKey ? ' -H "authorization: Bearer $RUNLET_API_KEY"' : '';
	return `curl -N '${url}' -H 'accept: text/event-stream'${key}`;
}
