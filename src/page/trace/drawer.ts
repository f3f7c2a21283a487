/** The drawer beside a chat. It shows the time and cost of the runs, and their events as they arrive. */

import type { Client } from '../../client/index.ts';
import type { Usage } from '../../client/types.ts';
import { describeTokens } from '../../client/words.ts';
import { createChart, sumUp } from '../parts/chart.ts';
import { button, element, find } from '../parts/element.ts';
import { createFailure } from '../parts/failure.ts';
import { describeTime } from '../parts/time.ts';
import { createEventList } from './events.ts';
import { type Trace, type Watch, watchSession } from './load.ts';
import { createRerun } from './rerun.ts';
import { createWaterfall } from './waterfall.ts';

/** `toCurl` returns the shell command that reads the events of a session. */
export function createTraceDrawer(client: Client, toCurl: (session: string) => string) {
	const root = find('#trace', HTMLElement);
	const opener = find('#trace-open', HTMLButtonElement);
	const waterfall = createWaterfall(
		() => watch?.readOlder() ?? Promise.resolve(),
		({ id }) => (session === undefined ? undefined : createRerun(client, { id: session, signal: visit.signal }, id)),
	);
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

	/** Clears the drawer. If the drawer is open, reads the session again. */
	function restart(): void {
		visit.abort();
		visit = new AbortController();
		waterfall.clear();
		turns.replaceChildren();
		failure.replaceChildren();
		events.clear();
		watch = undefined;
		if (root.hidden || session === undefined) return;
		watch = watchSession(
			client,
			{ id: session, signal: visit.signal },
			{
				onTrace: (trace) => {
					waterfall.show(trace);
					showTurns(turns, trace);
				},
				onEvent: events.push,
				onFailure: (error) => failure.replaceChildren(createFailure(error, restart)),
			},
		);
		watch.refresh();
	}

	opener.addEventListener('click', () => setOpen(root.hidden !== false));
	root.addEventListener('keydown', ({ key }) => {
		if (key === 'Escape') setOpen(false);
	});

	return {
		/** Shows a session. If it is already shown, reads it again. Without a session, the drawer is hidden. */
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

/** Makes a tab for each part. A tab shows its part and hides the others. */
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

/** The maximum number of turns that are shown. They are the newest turns. */
const mostTurns = 120;

function showTurns(root: HTMLElement, { runs }: Trace): void {
	const all = runs.flatMap(({ spans }) => spans.flatMap(({ depth, usage }) => (depth === 0 && usage ? [usage] : [])));
	const turns = all.slice(-mostTurns);
	const name = (at: number) => `Turn ${all.length - turns.length + at + 1}`;
	const draw = (title: string, read: (usage: Usage) => number, describe: (value: number) => string) => {
		const bars = turns.map((usage, at) => ({ name: name(at), parts: [read(usage)], words: describe(read(usage)) }));
		const most = Math.max(0, ...turns.map(read));
		return most === 0 ? [] : [createChart(title, bars, describe(most))];
	};
	const drawTokens = () => {
		const bars = turns.map((usage, at) => {
			const parts = [usage.inputTokens ?? 0, usage.outputTokens ?? 0];
			return { name: name(at), parts, words: describeTokens(usage) };
		});
		const most = Math.max(0, ...bars.map(sumUp));
		return most === 0 ? [] : [createChart('Tokens', bars, most.toLocaleString('en'), { parts: ['in', 'out'] })];
	};
	const describeCost = (usd: number) => `$${usd.toFixed(usd < 0.01 ? 5 : 2)}`;
	root.replaceChildren(
		...drawTokens(),
		...draw('Time', ({ latencyMs = 0 }) => latencyMs, describeTime),
		...draw('Cost', ({ costUsd = 0 }) => costUsd, describeCost),
	);
	if (!root.hasChildNodes()) root.append(element('p', 'nothing', 'The model has had no turn yet.'));
}

/** Returns the shell command that reads a session's events. If the server requires a key, the shell inserts the key. */
export function toCurl(baseUrl: string, session: string, wantsKey: boolean): string {
	const url = new URL(`v1/sessions/${encodeURIComponent(session)}/events`, baseUrl).href.replaceAll("'", '%27');
	const key = wantsKey ? ' -H "authorization: Bearer $RUNLET_API_KEY"' : '';
	return `curl -N '${url}' -H 'accept: text/event-stream'${key}`;
}
