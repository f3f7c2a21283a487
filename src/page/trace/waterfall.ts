/** The runs of a session as a waterfall: one bar for each model call, tool call and child, placed by its time. */

import { describeUsage } from '../../client/words.ts';
import { toSessionAddress } from '../parts/address.ts';
import { button, configure, createTable, element, link, svg } from '../parts/element.ts';
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
	stopped: 'stopped',
	left: 'no result in this run',
	later: 'went on in a later run',
};

interface Options {
	/** Reads older runs. */
	readonly onOlder: () => Promise<void>;
	/** Makes what stands below a run. */
	readonly createMore: (run: TracedRun) => HTMLElement | undefined;
	/** Makes the details of a span. They are shown below its row. */
	readonly createDetails: (run: TracedRun, span: Span) => HTMLElement;
	/** Called when a person opens or closes a run or a span. */
	readonly onChosen: (run: TracedRun, span?: Span) => void;
}

/** Shows the runs, newest first and expanded. Unchanged runs keep their elements. */
export function createWaterfall(options: Options) {
	const list = element('div', 'runs');
	const nothing = element('p', 'nothing', 'This session has had no run yet.');
	const older = element('p', '', createAction('Show older runs', 'of this session', options.onOlder));
	const shown = new Map<string, { readonly key: string; readonly box: HTMLDetailsElement }>();

	function show({ runs, hasOlder }: Trace): void {
		const newest = runs.toReversed();
		for (const [at, run] of newest.entries()) {
			const key = JSON.stringify(run, (name, value) => (name === 'content' ? value?.result?.id : value));
			const known = shown.get(run.id);
			if (known?.key !== key) {
				const box = createRun(run, known?.box.open ?? at === 0, options);
				// A person may be reading the details of spans.
				for (const row of known?.box.querySelectorAll<HTMLElement>('tr.open') ?? [])
					findRow(box, row.dataset.span)?.querySelector('button')?.click();
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
		/** Opens a run and a span of it, and scrolls to it. Returns whether the run is shown. */
		reveal(id: string, span?: string): boolean {
			const box = shown.get(id)?.box;
			if (box === undefined) return false;
			box.open = true;
			fillRun(box);
			const row = findRow(box, span);
			if (row !== null && !row.classList.contains('open')) row.querySelector('button')?.click();
			(row ?? box).scrollIntoView({ block: 'start' });
			return true;
		},
		clear(): void {
			shown.clear();
			list.replaceChildren();
			nothing.hidden = true;
			older.hidden = true;
		},
	};
}

function findRow(box: HTMLElement, span = ''): HTMLElement | null {
	return box.querySelector<HTMLElement>(`tr[data-span="${CSS.escape(span)}"]`);
}

/** What a run shows when it is opened. */
const contents = new WeakMap<HTMLDetailsElement, () => (HTMLElement | string)[]>();

/** Adds the rows of a run if they are not there yet. */
function fillRun(box: HTMLDetailsElement): void {
	if (box.querySelector('table') === null) box.append(...(contents.get(box)?.() ?? []));
}

function createRun(run: TracedRun, isOpen: boolean, options: Options): HTMLDetailsElement {
	const start = new Date(run.start);
	const time = configure(element('time', '', start.toLocaleTimeString()), { dateTime: start.toISOString() });
	const title = element('b', 'title', run.title || 'A run that went on');
	const summary = element('summary', '', title, element('span', 'about', time, ` · ${describeRun(run)}`));
	const box = element('details', 'traced', summary);
	box.dataset.run = run.id;
	const createMore = () => (run.isRunning ? undefined : options.createMore(run));
	contents.set(box, () => [createSpanTable(run, options), createMore() ?? '']);
	box.open = isOpen;
	// Add the rows only when a person opens the run.
	box.addEventListener('toggle', () => {
		if (box.open) fillRun(box);
	});
	summary.addEventListener('click', () => options.onChosen(run));
	if (isOpen) fillRun(box);
	return box;
}

/** Describes what is known of the time and the cost of a run. They are stored when a turn ends. */
function describeRun({ start, end, waitedMs, spans, usage, isRunning, isCopied }: TracedRun): string {
	const hasTurn = spans.some((span) => span.kind === 'model' && span.end !== undefined);
	const facts = [
		isRunning ? 'running' : end > start ? describeTime(end - start) : '',
		waitedMs > 0 ? `after a wait of ${describeTime(waitedMs)}` : '',
		hasTurn ? describeUsage(usage) : isRunning ? '' : 'no turn has ended',
		isCopied ? 'copied, not paid here' : '',
	];
	return facts.filter((words) => words !== '').join(' · ');
}

/** The time that the bars of a run cover. The wait for a person is before it. */
interface Scale {
	readonly from: number;
	readonly length: number;
}

function createSpanTable(run: TracedRun, options: Options): HTMLElement {
	const { spans, start, end: ownEnd } = run;
	const timed = spans.filter(({ kind }) => kind !== 'wait');
	// Children in the background can end after the run.
	const end = Math.max(ownEnd, ...timed.map((span) => span.end ?? 0));
	const isOpen = timed.some((span) => span.end === undefined);
	// The bar of a span that has not ended reaches beyond all known ends.
	const scale = { from: start, length: Math.max(1, end - start) * (isOpen ? 1.15 : 1) };
	const shown = spans.slice(0, mostSpans);
	const rows = shown.map((span) => createRow(span, scale, openDetails));
	const table = createTable('waterfall', ['What', '', 'Time, tokens'], rows);
	if (end > start) table.tHead?.rows[0]?.cells[1]?.append(createClock(scale));
	const rest = spans.length - rows.length;
	if (rest > 0) table.append(element('caption', 'about', `${rest} more are not shown.`));

	function openDetails(span: Span, row: HTMLElement, isShown: boolean): void {
		options.onChosen(run, isShown ? span : undefined);
		if (!isShown) return void row.nextElementSibling?.remove();
		const cell = configure(element('td', '', options.createDetails(run, span)), { colSpan: 3 });
		row.after(element('tr', 'span-details', cell));
	}
	return table;
}

/** The number of marks of the clock. */
const marks = 4;

/** Makes the clock of a run: the time since its beginning, above the bars. */
function createClock({ length }: Scale): HTMLElement {
	const times = Array.from({ length: marks + 1 }, (_, at) => (length * at) / marks);
	const words = times.map((ms) => element('span', '', ms === 0 ? '0' : describeTime(ms)));
	return configure(element('div', 'clock', ...words), { title: 'The time since the run began' });
}

type OnOpen = (span: Span, row: HTMLElement, isShown: boolean) => void;

function createRow(span: Span, scale: Scale, onOpen: OnOpen): HTMLElement {
	const { id, kind, depth, start, end, state, usage, cacheMiss, labels } = span;
	const words = wordsOfState[state];
	const ran = end === undefined ? '' : describeTime(end - start);
	const time = kind === 'provider' ? 'at the provider' : ran;
	const isCut = end === undefined && (state === 'stopped' || state === 'failed');
	const notes = isCut ? ['only in the cost of the session'] : [];
	if (cacheMiss !== undefined) notes.push(`cache missed: ${cacheMiss}`);
	const hint = kind === 'wait' ? 'before this run' : isCut ? 'not recorded' : undefined;
	const bar = createBar(start - scale.from, (end ?? scale.from + scale.length) - start, scale.length);
	const row = element('tr');
	row.append(
		element(
			'th',
			'',
			createName(span, row, onOpen),
			...(words === '' ? [] : [' ', element('small', 'state-words', words)]),
			...createMarks(labels).flatMap((mark) => [' ', mark]),
		),
		element('td', 'when', hint === undefined ? bar : element('small', 'about', hint)),
		element('td', 'cost', time, ...[...listUsage(usage), ...notes].map((words) => element('small', '', words))),
	);
	const level = `${Math.min(depth, 4)}`;
	Object.assign(row.dataset, { kind, state, depth: level, span: id });
	row.style.setProperty('--depth', level);
	row.title = kind === 'wait' ? '' : `began ${describeTime(start - scale.from)} after the run`;
	return row;
}

/** Lists a line for each part of the usage. The column is narrow, and a large count stays beside its word. */
function listUsage(usage: Span['usage']): string[] {
	const words = describeUsage(usage).replace(' tokens in', '\u00a0in').replace(' out', '\u00a0out');
	return words === '' ? [] : words.split(' · ');
}

/** Makes the name of a span: a button that opens its details, or a link to the child session. */
function createName(span: Span, row: HTMLElement, onOpen: OnOpen): HTMLElement {
	const { session, content, name } = span;
	if (session !== undefined) return link('', toSessionAddress(session), name);
	if (content === undefined) return element('span', '', name);
	const open = button('span-name', name, () => {
		const isShown = row.classList.toggle('open');
		open.ariaExpanded = `${isShown}`;
		onOpen(span, row, isShown);
	});
	open.ariaExpanded = 'false';
	return open;
}

function createBar(at: number, time: number, length: number): SVGElement {
	const toPercent = (part: number) => `${Math.min(100, Math.max(0, (100 * part) / length)).toFixed(2)}%`;
	const bar = svg('rect', { x: toPercent(at), width: toPercent(time), height: '100%', rx: '2' });
	return svg('svg', { class: 'track', 'aria-hidden': 'true' }, bar);
}
