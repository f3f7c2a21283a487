/** The runs of a session as a waterfall: a bar for each model call, tool and child, placed by its time in the run. */

import { describeUsage } from '../../client/words.ts';
import { toSessionAddress } from '../parts/address.ts';
import { element, link, svg } from '../parts/element.ts';
import { createAction } from '../parts/form.ts';
import { describeTime } from '../parts/time.ts';
import type { Trace } from './load.ts';
import type { Span, TracedRun } from './spans.ts';

/** Spans of a run that are shown. */
const mostSpans = 400;

const wordsOfState = {
	running: 'running',
	waiting: 'waits',
	done: '',
	failed: 'failed',
	left: 'no result in this run',
};

/**
 * Shows the newest run first, and open. A run that has not changed stays as it is, with what a person opened in it. `onOlder`
 * reads older runs than those that were shown last.
 */
export function createWaterfall(onOlder: () => Promise<void>) {
	const list = element('div', 'runs');
	const nothing = element('p', 'nothing', 'This session has had no run yet.');
	const older = element('p', '', createAction('Show older runs', 'of this session', onOlder));
	const shown = new Map<string, { readonly key: string; readonly box: HTMLDetailsElement }>();

	function show({ runs, hasOlder }: Trace): void {
		const newest = runs.toReversed();
		for (const [at, run] of newest.entries()) {
			const key = JSON.stringify(run);
			const known = shown.get(run.id);
			if (known?.key !== key) {
				const box = createRun(run, known?.box.open ?? at === 0);
				known?.box.replaceWith(box);
				shown.set(run.id, { key, box });
			}
			const box = shown.get(run.id)?.box;
			if (box !== undefined && list.children[at] !== box) list.insertBefore(box, list.children[at] ?? null);
		}
		while (list.childElementCount > newest.length) list.lastElementChild?.remove();
		nothing.hidden = runs.length > 0;
		older.hidden = !hasOlder;
	}

	nothing.hidden = true;
	older.hidden = true;
	return {
		root: element('div', '', list, nothing, older),
		show,
		clear(): void {
			shown.clear();
			list.replaceChildren();
			nothing.hidden = true;
			older.hidden = true;
		},
	};
}

function createRun(run: TracedRun, isOpen: boolean): HTMLDetailsElement {
	const facts = [describeTime(run.end - run.start), describeUsage(run.usage)].filter(Boolean).join(' · ');
	const time = element('time', '', new Date(run.start).toLocaleTimeString());
	time.dateTime = new Date(run.start).toISOString();
	const title = element('b', 'title', run.title === '' ? 'A run that went on' : run.title);
	const box = element(
		'details',
		'traced',
		element('summary', '', title, element('span', 'about', time, ` · ${facts}`)),
	);
	box.dataset.run = run.id;
	box.open = isOpen;
	// A run that is closed has no rows until it is opened.
	const fill = () => {
		if (box.open && box.querySelector('table') === null) box.append(createTable(run));
	};
	box.addEventListener('toggle', fill);
	fill();
	return box;
}

function createTable({ spans, start, end: ownEnd }: TracedRun): HTMLElement {
	// Those that work in the background end later.
	const end = Math.max(ownEnd, ...spans.map((one) => one.end ?? 0));
	const isOpen = spans.some((one) => one.end === undefined);
	// What has no end yet goes on behind all ends that are known.
	const length = Math.max(1, end - start) * (isOpen ? 1.15 : 1);
	const head = ['What', 'When', 'Time'].map((text) => element('th', '', text));
	for (const cell of head) cell.scope = 'col';
	const rows = spans.slice(0, mostSpans).map((span) => createRow(span, start, length));
	const table = element(
		'table',
		'waterfall',
		element('thead', '', element('tr', '', ...head)),
		element('tbody', '', ...rows),
	);
	const rest = spans.length - rows.length;
	if (rest > 0) table.append(element('caption', 'about', `${rest} more are not shown.`));
	return table;
}

function createRow(
	{ kind, name, depth, start, end, state, usage, cacheMiss, session }: Span,
	from: number,
	length: number,
): HTMLElement {
	const label = session === undefined ? name : link('', toSessionAddress(session), name);
	const words = wordsOfState[state];
	const ran = end === undefined ? '' : describeTime(end - start);
	const time = kind === 'provider' ? 'at the provider' : ran;
	const tokens = [describeUsage(usage), cacheMiss && `cache missed: ${cacheMiss}`].filter(Boolean).join(' · ');
	const row = element(
		'tr',
		'',
		element('th', '', label, ...(words === '' ? [] : [' ', element('small', 'state-words', words)])),
		element('td', 'when', createBar(start - from, (end ?? from + length) - start, length)),
		element('td', 'cost', time, ...(tokens === '' ? [] : [element('small', '', tokens)])),
	);
	row.dataset.kind = kind;
	row.dataset.state = state;
	row.dataset.depth = `${Math.min(depth, 6)}`;
	row.title = `begins after ${describeTime(start - from)}`;
	return row;
}

function createBar(at: number, time: number, length: number): SVGElement {
	const toPercent = (part: number) => `${Math.min(100, Math.max(0, (100 * part) / length)).toFixed(2)}%`;
	const bar = svg('rect', { x: toPercent(at), width: toPercent(time), height: '100%', rx: '2' });
	return svg('svg', { class: 'track', 'aria-hidden': 'true' }, bar);
}
