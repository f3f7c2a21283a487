/** The runs of a session as a waterfall: one bar for each model call, tool call and child, placed by its time. */

import { describeUsage } from '../../client/words.ts';
import { toSessionAddress } from '../parts/address.ts';
import { configure, createTable, element, link, svg } from '../parts/element.ts';
import { createAction } from '../parts/form.ts';
import { createMarks } from '../parts/labels.ts';
import { describeTime } from '../parts/time.ts';
import type { Trace } from './load.ts';
import type { Span, TracedRun } from './spans.ts';

const mostSpans = 400;

const wordsOfState = {
	running: 'running',
	waiting: 'waits',
	done: '',
	failed: 'failed',
	left: 'no result in this run',
};

/**
 * Shows the runs, newest first and expanded. Unchanged runs keep their elements. `onOlder` reads older runs. `createMore`
 * makes what stands below a run.
 */
export function createWaterfall(onOlder: () => Promise<void>, createMore: (run: TracedRun) => HTMLElement | undefined) {
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
				const box = createRun(run, known?.box.open ?? at === 0, createMore);
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

function createRun(
	run: TracedRun,
	isOpen: boolean,
	createMore: (run: TracedRun) => HTMLElement | undefined,
): HTMLDetailsElement {
	const facts = [describeTime(run.end - run.start), describeUsage(run.usage)].filter(Boolean).join(' · ');
	const start = new Date(run.start);
	const time = configure(element('time', '', start.toLocaleTimeString()), { dateTime: start.toISOString() });
	const title = element('b', 'title', run.title || 'A run that went on');
	const summary = element('summary', '', title, element('span', 'about', time, ` · ${facts}`));
	const box = element('details', 'traced', summary);
	box.dataset.run = run.id;
	box.open = isOpen;
	// Add the rows only when a person opens the run.
	const fill = () => {
		if (box.open && box.querySelector('table') === null) box.append(createSpanTable(run), createMore(run) ?? '');
	};
	box.addEventListener('toggle', fill);
	fill();
	return box;
}

function createSpanTable({ spans, start, end: ownEnd }: TracedRun): HTMLElement {
	// Children in the background can end after the run.
	const end = Math.max(ownEnd, ...spans.map((span) => span.end ?? 0));
	const isOpen = spans.some((span) => span.end === undefined);
	// The bar of a span that has not ended reaches beyond all known ends.
	const length = Math.max(1, end - start) * (isOpen ? 1.15 : 1);
	const rows = spans.slice(0, mostSpans).map((span) => createRow(span, start, length));
	const table = createTable('waterfall', ['What', 'When', 'Time'], rows);
	const rest = spans.length - rows.length;
	if (rest > 0) table.append(element('caption', 'about', `${rest} more are not shown.`));
	return table;
}

function createRow(
	{ kind, name, depth, start, end, state, usage, cacheMiss, session, labels }: Span,
	from: number,
	length: number,
): HTMLElement {
	const label = session === undefined ? name : link('', toSessionAddress(session), name);
	const words = wordsOfState[state];
	const ran = end === undefined ? '' : describeTime(end - start);
	const time = kind === 'provider' ? 'at the provider' : ran;
	const tokens = [describeUsage(usage), cacheMiss && `cache missed: ${cacheMiss}`].filter(Boolean).join(' · ');
	const cells = [
		element(
			'th',
			'',
			label,
			...(words === '' ? [] : [' ', element('small', 'state-words', words)]),
			...createMarks(labels).flatMap((mark) => [' ', mark]),
		),
		element('td', 'when', createBar(start - from, (end ?? from + length) - start, length)),
		element('td', 'cost', time, tokens === '' ? undefined : element('small', '', tokens)),
	];
	const row = element('tr', '', ...cells);
	const level = `${Math.min(depth, 4)}`;
	Object.assign(row.dataset, { kind, state, depth: level });
	row.style.setProperty('--depth', level);
	row.title = `begins after ${describeTime(start - from)}`;
	return row;
}

function createBar(at: number, time: number, length: number): SVGElement {
	const toPercent = (part: number) => `${Math.min(100, Math.max(0, (100 * part) / length)).toFixed(2)}%`;
	const bar = svg('rect', { x: toPercent(at), width: toPercent(time), height: '100%', rx: '2' });
	return svg('svg', { class: 'track', 'aria-hidden': 'true' }, bar);
}
