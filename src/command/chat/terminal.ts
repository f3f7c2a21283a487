/** Prints for `runlet chat`: the answer to standard output, everything else to standard error. */

import { styleText } from 'node:util';
import type { ChildEvent, RunEvent, TaskList } from '../../client/index.ts';
import { createFootnotes, createProviderCalls, hasEnded } from '../../client/provided.ts';
import type { ProviderCall } from '../../client/types.ts';
import {
	describeAwaiting,
	describeHalt,
	describeStop,
	describeTasks,
	describeUsage,
	findSkillName,
	parseInput,
	splitDiff,
	toShortInput,
} from '../../client/words.ts';
import { toDiffLineKinds } from '../../core/base/diff-lines.ts';
import { createMarkdownWriter } from './markdown.ts';
import {
	cut,
	endLine,
	getColumns,
	print,
	printText,
	printWhole,
	showWait,
	toOneLine,
	toPrintable,
	writeText,
} from './print.ts';
import { measure } from './width.ts';

/** Whether standard output shows styles. It does on a terminal or with FORCE_COLOR, unless NO_COLOR is set. */
const isStyled = styleText('bold', '-', { stream: process.stdout }) !== '-';

/** Prints the events of a run, and shows what the run waits for. Formats Markdown if the terminal has styles. */
export function createWriter(calls: Calls) {
	const prose = createProse();
	const provided = createProvided();
	let hasFailed = false;
	showWait('waiting');
	return {
		hasFailed: () => hasFailed,
		/** Prints the rest of a text. */
		end() {
			prose.end();
			showWait();
		},
		write(event: RunEvent) {
			// The events of sources arrive between the words of a text.
			if (event.type !== 'text' && event.type !== 'source') prose.end();
			switch (event.type) {
				case 'text':
					showWait('writing');
					return prose.add(event.text);
				case 'reasoning':
					return showWait('thinking');
				case 'tool_use_start':
				case 'tool_use_input':
				case 'tool_use_end':
				case 'tool_result':
					calls.take(event);
					return showWait(calls.describe() ?? 'waiting');
				case 'provider_tool':
				case 'source':
					return provided.take(event);
				case 'note':
					calls.print(event.id);
					return print('dim', `· ${event.label}${event.detail ? ` ${event.detail}` : ''}`);
				case 'tasks':
					calls.print(event.id);
					for (const list of event.lists) printTasks(list);
					return calls.hideResult(event.id);
				case 'child':
					calls.print(event.id);
					return printChild(event);
				case 'warning':
					return print('yellow', event.message);
				case 'turn.restarted':
					calls.clear();
					provided.dropTurn();
					return print('dim', 'The answer was interrupted and starts again:');
				case 'stop': {
					provided.endTurn();
					endLine();
					const words = describeStop(event.reason);
					return words ? print('yellow', words) : undefined;
				}
				case 'done':
				case 'awaiting':
				case 'halted':
				case 'cancelled':
				case 'error':
					hasFailed = event.type !== 'done' && event.type !== 'awaiting';
					if (hasFailed) calls.leave();
					provided.end();
					return printEnd(event);
			}
		},
	};
}

interface Call {
	readonly name: string;
	readonly json: string[];
	/** The line of the call. Missing until its input is complete. */
	line?: string;
	isPrinted: boolean;
	isResultHidden: boolean;
}

type CallEvent = Extract<RunEvent, { type: 'tool_use_start' | 'tool_use_input' | 'tool_use_end' | 'tool_result' }>;

export type Calls = ReturnType<typeof createCalls>;

/**
 * Prints each call of a session with its result. A short result stands on the line of its call. A long result, or a result
 * after other output, stands below the call. A call that waits for a person has its result in a later run.
 */
export function createCalls() {
	const calls = new Map<string, Call>();

	function endInput(call: Call) {
		const input = parseInput(call.json.join(''));
		const skill = findSkillName(call.name, input);
		call.line = skill === undefined ? describeCall(call.name, input) : `→ skill ${skill}`;
		call.isResultHidden = skill !== undefined;
	}

	function printCall(call: Call) {
		if (call.line !== undefined && !call.isPrinted) print('dim', cut(call.line));
		call.isPrinted = true;
	}

	function endCall({ id, output, isError }: Extract<CallEvent, { type: 'tool_result' }>) {
		const call = calls.get(id);
		calls.delete(id);
		const { diff, rest } = splitDiff(output);
		const brief = toOneLine(rest);
		const line = `${call?.line} ← ${brief}`;
		if (call?.isResultHidden && !isError) printCall(call);
		else if (call?.line !== undefined && !call.isPrinted && !isError && measure(line) <= getColumns())
			print('dim', line);
		else {
			if (call) printCall(call);
			print(isError ? 'red' : 'dim', cut(`  ← ${call ? `${call.name}: ` : ''}${brief}`));
		}
		if (diff !== undefined) printDiff(diff, shortDiff);
	}

	return {
		take(event: CallEvent) {
			const call = calls.get(event.id);
			if (event.type === 'tool_use_start')
				calls.set(event.id, { name: event.name, json: [], isPrinted: false, isResultHidden: false });
			else if (event.type === 'tool_result') endCall(event);
			else if (event.type === 'tool_use_end') call && endInput(call);
			else call?.json.push(event.partialInputJson);
		},
		/** Prints a call that has no result yet. */
		print(id: string) {
			const call = calls.get(id);
			if (call) printCall(call);
		},
		/** Prints the calls that get no result. */
		leave() {
			for (const call of calls.values()) printCall(call);
			calls.clear();
		},
		/** Leaves out the result of a call, because it would repeat what was printed. */
		hideResult(id: string) {
			const call = calls.get(id);
			if (call) call.isResultHidden = true;
		},
		/** Names the calls without a result. */
		describe: () => (calls.size === 0 ? undefined : [...calls.values()].map(({ name }) => name).join(', ')),
		clear: () => calls.clear(),
	};
}

/** The columns of a call that are kept, however wide the terminal is. */
const longestCall = 400;

function describeCall(name: string, input: unknown): string {
	return toOneLine(`→ ${name} ${toShortInput(input)}`, longestCall);
}

type EndEvent = Extract<RunEvent, { type: 'done' | 'awaiting' | 'halted' | 'cancelled' | 'error' }>;

function printEnd(event: EndEvent) {
	switch (event.type) {
		case 'done': {
			const words = describeUsage(event.usage);
			return words ? print('dim', words) : undefined;
		}
		case 'awaiting':
			// What waits is printed as a card.
			return (event.question ?? event.toolCalls) ? undefined : print('bold', describeAwaiting(event));
		case 'halted':
			return print('yellow', describeHalt(event.reason));
		case 'cancelled':
			return print('dim', 'Stopped.');
		case 'error':
			return print('red', `${event.message} (${event.code})`);
	}
}

/** Prints a text that comes in pieces. */
function createProse() {
	let markdown: ReturnType<typeof createMarkdownWriter> | undefined;
	return {
		add(text: string) {
			if (!isStyled) return printText(text);
			markdown ??= createMarkdownWriter(writeText, () => process.stdout.columns || Number.POSITIVE_INFINITY);
			markdown.write(toPrintable(text));
		},
		end() {
			markdown?.end();
			markdown = undefined;
		},
	};
}

/** Prints the calls of a child, but not the child's answer, which is the result of the call that started the child. */
function printChild({ agent, event }: ChildEvent) {
	if (event.type === 'child') printChild({ ...event, agent: `${agent}: ${event.agent}` });
	if (event.type !== 'step') return;
	for (const call of event.providerCalls ?? []) print('dim', cut(`  ${agent}: ${describeProviderCall(call)}`));
	for (const { name, input } of event.toolCalls) print('dim', cut(`  ${agent}: ${describeCall(name, input)}`));
}

/** The maximum number of printed lines of a diff, and of a diff that is the result of a call. */
const mostLines = 200;
const shortDiff = 20;

export function printDiff(diff: string, most = mostLines) {
	const lines = diff.trimEnd().split('\n');
	const styles = { added: 'green', removed: 'red', head: 'dim', other: 'dim' } as const;
	for (const [at, kind] of toDiffLineKinds(lines.slice(0, most)).entries()) printWhole(styles[kind], `  ${lines[at]}`);
	if (lines.length > most) print('dim', `  … ${lines.length - most} more lines`);
}

/** The maximum number of printed tasks of a list. */
const mostTasks = 12;

const marks = { done: '[x]', failed: '[!]', open: '[ ]' };

/** Prints a list of tasks. A long list begins two tasks before the first open task. */
export function printTasks(list: TaskList) {
	const { title, tasks } = list;
	print('bold', `· ${toOneLine(title)}: ${describeTasks(list)}`);
	const next = tasks.findIndex(({ outcome }) => outcome === undefined);
	const latest = Math.max(0, tasks.length - mostTasks);
	const from = Math.min(latest, next === -1 ? latest : Math.max(0, next - 2));
	if (from > 0) print('dim', `  … ${from} before`);
	for (const [at, { text, outcome = 'open', note }] of tasks.slice(from, from + mostTasks).entries()) {
		const style = outcome === 'failed' ? 'red' : from + at === next ? 'bold' : 'dim';
		print(style, `  ${marks[outcome]} ${toOneLine(text)}${note ? `: ${toOneLine(note)}` : ''}`);
	}
	const after = tasks.length - from - mostTasks;
	if (after > 0) print('dim', `  … ${after} more`);
}

/** The maximum number of printed footnotes. */
const mostNotes = 50;

function createProvided() {
	const footnotes = createFootnotes();
	const calls = createProviderCalls(() => ({ isPrinted: false }));

	function printCall(call: ProviderCall) {
		const state = calls.take(call);
		const isOver = hasEnded(call);
		// Some providers send the input only with the result.
		if (!state.isPrinted && (call.input !== undefined || isOver)) {
			state.isPrinted = true;
			print('dim', cut(describeProviderCall(call)));
		}
		if (call.isError === true) print('red', `← ${call.name}: ${toOneLine(call.output ?? 'The tool failed.')}`);
	}

	return {
		take(event: Extract<RunEvent, { type: 'provider_tool' | 'source' }>) {
			if (event.type === 'source') footnotes.add(event);
			else printCall(event);
		},
		endTurn() {
			calls.endTurn();
			footnotes.endTurn();
		},
		dropTurn() {
			calls.dropTurn();
			footnotes.dropTurn();
		},
		/** Prints the sources of the answer. */
		end() {
			footnotes.endTurn();
			const notes = footnotes.list();
			for (const { number, title, url } of notes.slice(0, mostNotes)) {
				const address = url === undefined || url === title ? '' : ` ${url}`;
				print('dim', `[${number}] ${toOneLine(title)}${address}`);
			}
			if (notes.length > mostNotes) print('dim', `… ${notes.length - mostNotes} more sources`);
		},
	};
}

function describeProviderCall({ name, input }: ProviderCall): string {
	return `${describeCall(name, input ?? {})} (at the provider)`;
}
